"""E2E Networks TIR: training clusters that run Slurm."""
