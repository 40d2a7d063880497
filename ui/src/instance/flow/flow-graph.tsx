// Draws the graph of a flow: arrows as lines, nodes as buttons on top.

import { useId, useState, type ReactElement } from "react";
import { Icon, type IconName } from "../../parts/icon.tsx";
import type { GraphNode } from "./graph.ts";
import type { LaidOut } from "./layout.ts";
import type { NodeRuns, NodeState } from "./node-states.ts";

const ICONS: Readonly<Record<GraphNode["kind"], IconName>> = {
  start: "play",
  end: "stop",
  join: "check",
  task: "bolt",
  fork: "fork",
  map: "instances",
  route: "fork",
  loop: "again",
  delay: "clock",
  wait: "bell",
  call: "flow",
  child: "child",
  catch: "warning",
};
const STATES: readonly NodeState[] = [
  "idle",
  "running",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "skipped",
];
const ZOOMS = [0.4, 0.55, 0.75, 1, 1.25, 1.6];
const IDLE: NodeState = "idle";

export function FlowGraph({
  laid,
  states,
  hasEnded,
  selected,
  onSelect,
}: {
  readonly laid: LaidOut;
  readonly states: ReadonlyMap<string, NodeRuns>;
  readonly hasEnded: boolean;
  readonly selected: string | null;
  readonly onSelect: (path: string) => void;
}): ReactElement {
  const [zoom, setZoom] = useState(3);
  const scale = ZOOMS[zoom] ?? 1;
  const arrow = useId();
  const { width, height } = laid;
  return (
    <div className="panel flow">
      <div className="timeline-tools">
        <ul className="timeline-keys">
          {STATES.map((state) => (
            <li key={state}>
              <span className="node-key" data-state={state} /> {state}
            </li>
          ))}
        </ul>
        <span className="row">
          <button
            type="button"
            className="button"
            data-size="small"
            aria-label="Zoom out"
            disabled={zoom === 0}
            onClick={() => setZoom(zoom - 1)}
          >
            −
          </button>
          <button
            type="button"
            className="button"
            data-size="small"
            aria-label="Zoom in"
            disabled={zoom === ZOOMS.length - 1}
            onClick={() => setZoom(zoom + 1)}
          >
            +
          </button>
        </span>
      </div>
      <div className="flow-scroll" role="group" aria-label="Flow graph" tabIndex={0}>
        <div className="flow-size" style={{ width: width * scale, height: height * scale }}>
          <div className="flow-canvas" style={{ width, height, transform: `scale(${scale})` }}>
            <svg width={width} height={height} aria-hidden="true">
              <defs>
                <marker
                  id={arrow}
                  viewBox="0 0 8 8"
                  refX="7"
                  refY="4"
                  markerWidth="7"
                  markerHeight="7"
                  orient="auto-start-reverse"
                >
                  <path className="flow-arrow" d="M0 0 8 4 0 8z" />
                </marker>
              </defs>
              {laid.frames.map(({ id, x, y, width: w, height: h }) => (
                <rect key={id} className="flow-frame" x={x} y={y} width={w} height={h} rx={10} />
              ))}
              {laid.edges.map(({ points, isDashed }, index) => (
                <path
                  key={index}
                  className="flow-edge"
                  data-dashed={isDashed}
                  d={pathOf(points)}
                  markerEnd={`url(#${arrow})`}
                />
              ))}
            </svg>
            {laid.frames.map(({ id, title, x, y }) => (
              <span key={id} className="flow-frame-title" style={{ left: x + 10, top: y + 4 }}>
                {title}
              </span>
            ))}
            {laid.edges.map(({ label, labelAt }, index) =>
              labelAt === null ? null : (
                <span
                  key={index}
                  className="flow-edge-label"
                  style={{ left: labelAt.x, top: labelAt.y }}
                >
                  {label}
                </span>
              ),
            )}
            {laid.nodes.map(({ id, kind, title, hint, path, x, y, width: w, height: h }) => {
              const style = { left: x, top: y, width: w, height: h };
              if (path === null) {
                const state = kind === "end" && !hasEnded ? IDLE : "completed";
                return (
                  <span
                    key={id}
                    className="flow-node"
                    data-kind={kind}
                    data-state={state}
                    style={style}
                  >
                    {title}
                  </span>
                );
              }
              const runs = states.get(path);
              const state = runs?.state ?? IDLE;
              const count = countText(runs);
              const parts = [path, kind, state, ...(count === "" ? [] : [count])].join(", ");
              // The accessible name contains the visible text, for users who speak it.
              const label =
                hint === "" && count === "" ? parts : `${parts}: ${title} ${hint} ${count}`;
              return (
                <button
                  key={id}
                  type="button"
                  className="flow-node"
                  data-kind={kind}
                  data-state={state}
                  aria-pressed={path === selected}
                  aria-label={label.trimEnd()}
                  title={`${path}: ${state}`}
                  style={style}
                  onClick={() => onSelect(path)}
                >
                  <Icon name={ICONS[kind]} />
                  <span className="flow-node-text">
                    <span className="cut">{title}</span>{" "}
                    <span className="cut flow-node-hint">{hint}</span>
                  </span>{" "}
                  {count === "" ? null : <span className="flow-node-count">{count}</span>}
                </button>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/** How often the node ran. Empty for one run. */
function countText(node: NodeRuns | undefined): string {
  if (node === undefined) return "";
  if (node.runs > 1) return `${node.completed}/${node.runs}`;
  return node.attempts > 1 ? `×${node.attempts}` : "";
}

/** A line through dagre's points with rounded corners. */
function pathOf(points: readonly { readonly x: number; readonly y: number }[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    if (next === undefined) path += ` L${point.x} ${point.y}`;
    else path += ` Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  });
  return path;
}
