"""Every field of a worker and a master spec, with values that the rules between fields let stand together."""

from __future__ import annotations

import copy
from typing import Any

from jupyter_gpu_clusters.sandbox.runai.merge import merge

_EXAMPLE_UUID = "123e4567-e89b-12d3-a456-426614174000"
COMMON: dict[str, Any] = {
    "annotations": [{"name": "billing", "value": "unit-7", "exclude": False}],
    "labels": [{"name": "stage", "value": "trial", "exclude": False}],
    "command": "python",
    "args": "-x train.py",
    "image": "python:3.12",
    "imagePullPolicy": "Always",
    "imagePullSecrets": [{"name": "registry-key", "userCredential": True, "exclude": False}],
    "workingDir": "/home/me",
    "createHomeDir": True,
    "stdin": True,
    "tty": True,
    "environmentVariables": [
        {"name": "A", "value": "1", "exclude": False, "description": "the first"},
        {"name": "B", "secret": {"name": "my-secret", "key": "PASSWORD"}},
        {"name": "C", "configMap": {"name": "my-config-map", "key": "SCHEMA"}},
        {"name": "D", "podFieldRef": {"path": "metadata.name"}},
        {"name": "E", "userCredential": {"name": "my_database", "key": "PASSWORD"}},
    ],
    "compute": {
        "cpuCoreLimit": 2,
        "cpuCoreRequest": 0.5,
        "cpuMemoryLimit": "30M",
        "cpuMemoryRequest": "20M",
        "extendedResources": [{"resource": "rdma/ib", "quantity": "2", "exclude": False}],
        "gpuDevicesRequest": 1,
        "gpuPortionLimit": 0.5,
        "gpuPortionRequest": 0.5,
        "gpuRequestType": "portion",
        "largeShmRequest": False,
    },
    "storage": {
        "pvc": [
            {
                "claimInfo": {
                    "size": "1G",
                    "storageClass": "my-storage-class",
                    "accessModes": {"readWriteOnce": True, "readOnlyMany": False, "readWriteMany": False},
                    "volumeMode": "Filesystem",
                    "addedAttrValues": [{"key": "dnsname", "value": "my.dns.com"}],
                },
                "claimName": "my-claim",
                "dataSharing": False,
                "ephemeral": False,
                "exclude": False,
                "existingPvc": False,
                "name": "claim-a",
                "path": "/claim",
                "readOnly": False,
            }
        ],
        "nfs": [
            {
                "exclude": False,
                "mountPath": "/nfs",
                "name": "nfs-a",
                "path": "/exported",
                "readOnly": True,
                "server": "nfs.example.org",
            }
        ],
        "hostPath": [
            {
                "exclude": False,
                "mountPath": "/local",
                "mountPropagation": "None",
                "name": "host-a",
                "path": "/on/host",
                "readOnly": True,
            }
        ],
        "git": [
            {
                "branch": "main",
                "exclude": False,
                "name": "git-a",
                "passwordSecret": "old-secret",
                "path": "/code",
                "repository": "https://git.example.org/me/code",
                "revision": "v1",
                "secretKeyOfPassword": "Password",
                "secretKeyOfUser": "User",
                "secretRef": {
                    "name": "my-password-secret",
                    "authenticationMethod": "password",
                    "secretKeyOfUser": "User",
                    "secretKeyOfPassword": "Password",
                },
            }
        ],
        "s3": [
            {
                "accessKeySecret": "my-access-key-secret",
                "bucket": "my-bucket",
                "exclude": False,
                "name": "s3-a",
                "path": "/bucket",
                "secretKeyOfAccessKeyId": "AccessKeyId",
                "secretKeyOfSecretKey": "SecretKey",
                "url": "https://s3.example.org",
            }
        ],
        "configMapVolume": [
            {
                "configMap": "settings",
                "defaultMode": "0644",
                "exclude": False,
                "mountPath": "/etc/settings",
                "name": "map-a",
                "subPath": "inner",
            }
        ],
        "secretVolume": [
            {"defaultMode": "0400", "exclude": False, "mountPath": "/etc/secret", "name": "secret-a", "secret": "sec"}
        ],
        "emptyDirVolume": [
            {"exclude": False, "medium": "Memory", "name": "empty-a", "path": "/mnt/emptydir", "sizeLimit": "1G"}
        ],
        "dataVolume": [{"exclude": False, "id": _EXAMPLE_UUID, "mountPath": "/mnt/data"}],
    },
    "security": {
        "allowPrivilegeEscalation": False,
        "capabilities": ["CHOWN", "KILL"],
        "hostIpc": False,
        "hostNetwork": False,
        "readOnlyRootFilesystem": False,
        "runAsGid": 30,
        "runAsNonRoot": True,
        "runAsUid": 500,
        "seccompProfileType": "RuntimeDefault",
        "supplementalGroups": "2,3,5,8",
        "uidGidSource": "custom",
    },
    "exposedUrls": [
        {
            "container": 8080,
            "url": "https://page.example.org",
            "authorizationType": "authorizedUsers",
            "authorizedUsers": ["user-a", "user-b"],
            "authorizedGroups": ["group-a"],
            "toolType": "jupyter",
            "toolName": "my-tool",
            "name": "url-a",
            "exclude": False,
        }
    ],
    "ports": [
        {
            "container": 8080,
            "serviceType": "LoadBalancer",
            "external": 30080,
            "toolType": "pytorch",
            "toolName": "my-pytorch",
            "name": "port-a",
            "exclude": False,
        }
    ],
    "relatedUrls": [{"url": "https://runs.example.org", "type": "wandb", "name": "url-b", "exclude": False}],
    "probes": {
        "readiness": {
            "initialDelaySeconds": 1,
            "periodSeconds": 1,
            "timeoutSeconds": 1,
            "successThreshold": 1,
            "failureThreshold": 1,
            "handler": {"httpGet": {"path": "/", "port": 1, "host": "example.com", "scheme": "HTTP"}},
        }
    },
    "nodePools": ["h100", "default"],
    "nodeType": "fast-disk",
    "nodeAffinityRequired": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    },
    "podAffinity": {"type": "Required", "key": "zone"},
    "tolerations": [
        {
            "name": "patient",
            "operator": "Equal",
            "key": "busy",
            "value": "yes",
            "effect": "NoExecute",
            "seconds": 1,
            "exclude": False,
        }
    ],
    "category": "Train",
    "priorityClass": "high",
    "preemptibility": "preemptible",
    "restartPolicy": "Always",
    "terminateAfterPreemption": False,
    "terminationGracePeriodSeconds": 20,
    "backoffLimit": 3,
    "autoDeletionTimeAfterCompletionSeconds": 15,
}
PYTORCH: dict[str, Any] = {
    "distributedFramework": "PyTorch",
    "numWorkers": 2,
    "minReplicas": 1,
    "maxReplicas": 2,
    "segmentSize": 1,
    "cleanPodPolicy": "None",
}
MPI: dict[str, Any] = {
    "distributedFramework": "MPI",
    "numWorkers": 2,
    "slotsPerWorker": 1,
    "sshAuthMountPath": "/root/.ssh",
    "mpiLauncherCreationPolicy": "AtStartup",
    "cleanPodPolicy": "Running",
}


def worker(framework: dict[str, Any]) -> dict[str, Any]:
    """A worker spec with everything."""
    return merge(COMMON, framework)


def master() -> dict[str, Any]:
    """A master spec with everything."""
    return copy.deepcopy(COMMON)
