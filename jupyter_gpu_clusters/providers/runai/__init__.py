"""NVIDIA Run:ai: distributed workloads on Kubernetes clusters that exist already."""
