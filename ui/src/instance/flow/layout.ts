// Computes the positions of a graph's parts with dagre.

import dagre from "@dagrejs/dagre";
import type { Graph, GraphEdge, GraphFrame, GraphNode } from "./graph.ts";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export interface LaidOut {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly (GraphNode & Box)[];
  readonly frames: readonly (GraphFrame & Box)[];
  readonly edges: readonly (GraphEdge & {
    readonly points: readonly { readonly x: number; readonly y: number }[];
    readonly labelAt: { readonly x: number; readonly y: number } | null;
  })[];
}

const CHAR = 7.4;
const HEIGHT = 46;
const MARGIN = 16;

export function layOut(graph: Graph): LaidOut {
  const layout = new dagre.graphlib.Graph({ compound: true, multigraph: true });
  layout.setGraph({
    rankdir: "TB",
    nodesep: 26,
    ranksep: 38,
    edgesep: 14,
    marginx: MARGIN,
    marginy: MARGIN,
  });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const { id } of graph.frames) layout.setNode(id, {});
  for (const node of graph.nodes) layout.setNode(node.id, sizeOf(node));
  for (const { id, frame } of [...graph.frames, ...graph.nodes]) {
    if (frame !== null) layout.setParent(id, frame);
  }
  graph.edges.forEach(({ from, to, label }, index) => {
    const width = label === "" ? 0 : label.length * CHAR + 12;
    layout.setEdge(
      from,
      to,
      { width, height: label === "" ? 0 : 18, labelpos: "c" },
      String(index),
    );
  });
  dagre.layout(layout);
  const { width = 0, height = 0 } = layout.graph();
  return {
    width,
    height,
    nodes: graph.nodes.map((node) => ({ ...node, ...boxOf(layout.node(node.id)) })),
    frames: graph.frames.map((frame) => ({ ...frame, ...boxOf(layout.node(frame.id)) })),
    edges: graph.edges.map((edge, index) => {
      const { points = [], x, y } = layout.edge(edge.from, edge.to, String(index));
      const labelAt = edge.label === "" || x === undefined || y === undefined ? null : { x, y };
      return { ...edge, points, labelAt };
    }),
  };
}

function sizeOf({ kind, title, hint }: GraphNode): { width: number; height: number } {
  if (kind === "join") return { width: 16, height: 16 };
  if (kind === "start" || kind === "end") {
    return { width: Math.min(Math.max(title.length * CHAR + 36, 70), 240), height: 32 };
  }
  const chars = Math.max(title.length, hint.length * 0.86);
  return { width: Math.min(Math.max(chars * CHAR + 74, 136), 280), height: HEIGHT };
}

/** Dagre returns the center of a box; boxes are drawn from their corner. */
function boxOf(laid: { x?: number; y?: number; width?: number; height?: number }): Box {
  const { x = 0, y = 0, width = 0, height = 0 } = laid;
  return { x: x - width / 2, y: y - height / 2, width, height };
}
