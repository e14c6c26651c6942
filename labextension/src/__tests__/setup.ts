/** What jsdom lacks and Lab's packages expect of a browser. */

import { cleanup } from '@testing-library/react';
import { afterEach } from 'vitest';

/** Nothing is ever laid out in jsdom, so there is nothing to observe. */
class Observer {
  readonly observe = () => undefined;
  readonly unobserve = () => undefined;
  readonly disconnect = () => undefined;
}

const missing = {
  DragEvent: class extends MouseEvent {},
  ResizeObserver: Observer,
  IntersectionObserver: Observer,
  matchMedia: () => ({ matches: false, addEventListener: () => undefined }),
  requestIdleCallback: (work: () => void) => setTimeout(work, 0)
};

for (const [name, value] of Object.entries(missing)) {
  if (Reflect.get(globalThis, name) === undefined) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}

afterEach(cleanup);
