"""``python -m jupyter_gpu_clusters.sandbox``."""

import sys

from .cli import main

sys.exit(main())
