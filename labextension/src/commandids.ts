export const CommandIds = {
  showPanel: 'gpu-clusters:show-panel',
  refresh: 'gpu-clusters:refresh',
  toggleFinished: 'gpu-clusters:toggle-finished',
  showLogs: 'gpu-clusters:show-logs',
  copyName: 'gpu-clusters:copy-name',
  cancelWorkload: 'gpu-clusters:cancel-workload',
  deleteCluster: 'gpu-clusters:delete-cluster',
  newCluster: 'gpu-clusters:new-cluster',
  submitWorkload: 'gpu-clusters:submit-workload',
  scaleCluster: 'gpu-clusters:scale-cluster',
  act: 'gpu-clusters:act',
  suspendWorkload: 'gpu-clusters:suspend-workload',
  resumeWorkload: 'gpu-clusters:resume-workload',
  showDetails: 'gpu-clusters:show-details'
} as const;
