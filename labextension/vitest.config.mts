import { readFileSync } from 'node:fs';

import { defineConfig } from 'vitest/config';

// These packages ship ES modules that import SVG or CSS files, which only the bundler understands.
const inline = [/@jupyterlab\//, /@jupyter\//, /@lumino\//, /@microsoft\//];

const rawSvg = {
  name: 'raw-svg',
  enforce: 'pre' as const,
  load: (id: string) =>
    id.endsWith('.svg') ? `export default ${JSON.stringify(readFileSync(id, 'utf8'))}` : null
};

export default defineConfig({
  root: import.meta.dirname,
  cacheDir: '../node_modules/.vite',
  plugins: [rawSvg],
  test: {
    environment: 'jsdom',
    css: false,
    include: ['src/__tests__/*.spec.{ts,tsx}'],
    setupFiles: ['src/__tests__/setup.ts'],
    server: { deps: { inline } },
    // The build machine may be busy: the first import of Lab's packages alone takes many seconds.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // One jsdom and one copy of Lab's packages for all files of a worker: to load them takes longer than the tests.
    pool: 'threads',
    isolate: false
  }
});
