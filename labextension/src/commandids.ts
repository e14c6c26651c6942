export const CommandIds = {
  showPanel: 'gpu-clusters:show-panel',
  refresh: 'gpu-clusters:refresh',
  toggleFinished: 'gpu-clusters:toggle-finished',
  showLogs: 'gpu-clusters:show-logs',
  copyName: 'gpu-clusters:copy-name',
  cancelWorkload: 'gpu-clusters:cancel-workload',
  deleteCluster: 'gpu-clusters:delete-cluster'
} as const;
