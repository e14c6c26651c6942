"""The contract test-suite of providers, for providers outside this package as well as for our own.

Needs pytest (``pip install 'jupyter-gpu-clusters[test]'``, or pytest alone); nothing else of this package imports it.
A provider is tested through the registry, the accounts file and the core's `Service`, as a user would use it::

    # test_mycloud.py
    import pytest
    from jupyter_gpu_clusters.testing import FarSide, Login, ProviderContract

    class MyFarSide(FarSide):
        provider = "mycloud"                # as its entry point is called
        def login(self) -> Login: ...       # options and secret of an account that works
        def clusters(self): ...             # what exists over there, from the service's own books
        def received(self): ...             # the writes that reached it
        def spec(self): ...                 # a small cluster that can be made

    class TestMyCloud(ProviderContract):
        @pytest.fixture
        def far_side(self) -> FarSide:
            return MyFarSide()

Every other method of `FarSide` is something the far side can do to order; tests that need one that is not there are
skipped with the reason. What the provider itself cannot do is skipped with the provider's own reason.
"""

import pytest

_WITH_ASSERTIONS = (
    "accounts", "actions", "base", "creating", "deleting", "listing", "lost_answers", "plans", "scaling", "secrets",
    "specs", "telling", "workloads", "world",
)  # fmt: skip
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_ASSERTIONS))

from .contract import ProviderContract  # noqa: E402
from .far_side import FarSide, Login, Received, Thing  # noqa: E402

__all__ = ["FarSide", "Login", "ProviderContract", "Received", "Thing"]
