// Line icons of 16 by 16 pixels. Each accompanies a text, and screen readers ignore them.

import type { ReactElement } from "react";

const PATHS = {
  overview: "M2.5 13.5V8.5M6.2 13.5v-11M9.8 13.5V6M13.5 13.5V4",
  instances: "M2.5 4h11M2.5 8h11M2.5 12h11",
  queues: "M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3",
  runtimes: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  entity: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.8V8l2.2 1.6",
  play: "M5 3.2v9.6L12.5 8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  check: "m3 8.5 3.2 3.2L13 4.8",
  cross: "m4 4 8 8M12 4l-8 8",
  stop: "M4 4h8v8H4z",
  minus: "M3.5 8h9",
  plus: "M8 3.5v9M3.5 8h9",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3",
  warning: "M8 2.5 14.3 13.4H1.7zM8 6.6v3M8 11.6h.01",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 7.4v3.4M8 5.2h.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4l3.1 3.1",
  bolt: "M9 1.8 3.5 9H8l-1 5.2L12.5 7H8z",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.2 1.2H2.8zM6.7 14h2.6",
  step: "M2.5 8h9M8.5 5l3 3-3 3M13.5 4v8",
  child: "M4 2.5v6a2 2 0 0 0 2 2h6M9.5 8l2.5 2.5L9.5 13",
  ask: "M2.5 3h11v7.5H8L4.8 13.2v-2.7H2.5zM5.5 6.7h.01M8 6.7h.01M10.5 6.7h.01",
  fork: "M4.5 2.5v11M4.5 10c0-4 7-2 7-6.5M9.3 5.2l2.2-2.2 2.2 2.2",
  undo: "M3 6h6.5a3.5 3.5 0 0 1 0 7H6M6 3 3 6l3 3",
  again: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.4A5.4 5.4 0 0 1 6.6 3 5.4 5.4 0 1 0 13 9.4",
  screen: "M2 3h12v8H2zM6 13.5h4",
  down: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  inbox: "M2.5 9.5 4.5 3h7l2 6.5v3.5h-11zM2.5 9.5h3.2l1 1.6h2.6l1-1.6h3.2",
  flow: "M2.5 2.5h4v3h-4zM9.5 6.5h4v3h-4zM2.5 10.5h4v3h-4zM6.5 4h1.5v8H6.5M8 8h1.5",
  stream: "M2.5 5c2-2 3.5-2 5.5 0s3.5 2 5.5 0M2.5 11c2-2 3.5-2 5.5 0s3.5 2 5.5 0",
  out: "M6.5 2.5h-4v11h4M7 8h6.5M10.5 5l3 3-3 3",
  keyboard: "M1.5 4h13v8h-13zM4 6.5h.01M6.6 6.5h.01M9.3 6.5h.01M12 6.5h.01M4.5 9.5h7",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): ReactElement {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
