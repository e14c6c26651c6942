/** Our own icon, and the shapes of the phases. */

import { LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { ILook, Shape } from './format';
import clusterSvg from '../style/cluster.svg';

export const clusterIcon = new LabIcon({
  name: 'jupyter-gpu-clusters:cluster',
  svgstr: clusterSvg
});

/** Drawn in a box of 16 by 16; filled shapes have `fill`, outlines `line`. */
const SHAPES: Record<Shape, { fill?: string; line?: string }> = {
  dot: { fill: 'M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z' },
  ring: { line: 'M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8z' },
  half: { line: 'M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8z', fill: 'M8 4a4 4 0 0 1 0 8z' },
  triangle: { line: 'M8 3.5L13 12.5H3z M8 7v2.6 M8 11v.3' },
  square: { fill: 'M4.5 4.5h7v7h-7z' },
  cross: { line: 'M4.5 4.5l7 7 M11.5 4.5l-7 7' },
  check: { line: 'M3.5 8.5l3 3l6-7' },
  slash: { line: 'M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8z M5.2 10.8l5.6-5.6' },
  question: { line: 'M5.8 6.2a2.2 2.2 0 1 1 3.3 1.9c-.8.5-1.1.9-1.1 1.7 M8 12v.3' }
};

/** The sign of a phase. The word stands beside it, so it says nothing to a screen reader. */
export function PhaseSign({ shape, tone }: ILook): React.ReactElement {
  const { fill, line } = SHAPES[shape];
  return (
    <svg
      className="jp-GpuClusters-sign"
      data-tone={tone}
      data-shape={shape}
      viewBox="0 0 16 16"
      aria-hidden
    >
      {line && <path className="jp-mod-line" d={line} />}
      {fill && <path className="jp-mod-fill" d={fill} />}
    </svg>
  );
}
