// Converts a flow's definition to a graph for drawing: boxes, arrows between them, and frames around nested
// parts.

import type {
  FlowDefinition,
  FlowNode,
  KeyedNodes,
  LoopNode,
  MapNode,
  NodeKind,
} from "../../../../src/flow/data/definition.ts";
import { branchPrefix, OTHERWISE } from "../../../../src/flow/data/paths.ts";
import { formatDuration } from "../../parts/format.ts";

export interface GraphNode {
  readonly id: string;
  readonly kind: NodeKind | "start" | "end" | "join";
  readonly title: string;
  readonly hint: string;
  /** The path in the definition. Null for a box that exists only in the drawing. */
  readonly path: string | null;
  readonly frame: string | null;
}
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isDashed: boolean;
}
export interface GraphFrame {
  readonly id: string;
  readonly title: string;
  readonly path: string;
  readonly frame: string | null;
}
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly frames: readonly GraphFrame[];
}

/** An arrow that leaves a node, with its label. */
interface Exit {
  readonly from: string;
  readonly label: string;
}
interface Spot {
  readonly prefix: string;
  readonly frame: string | null;
}

export function graphOf({ name, nodes }: FlowDefinition): Graph {
  const drawing = new Drawing();
  const top: Spot = { prefix: "", frame: null };
  const start = drawing.box({ kind: "start", title: name, hint: "", path: null }, top, []);
  const exits = drawing.level(nodes, top, [{ from: start, label: "" }]);
  drawing.box({ kind: "end", title: "end", hint: "", path: null }, top, exits);
  return drawing;
}

class Drawing implements Graph {
  readonly nodes: GraphNode[] = [];
  readonly edges: GraphEdge[] = [];
  readonly frames: GraphFrame[] = [];

  level(nodes: readonly FlowNode[], spot: Spot, entries: readonly Exit[]): readonly Exit[] {
    return nodes.reduce((exits, node) => this.#node(node, spot, exits), entries);
  }

  box(what: Omit<GraphNode, "id" | "frame">, { frame }: Spot, entries: readonly Exit[]): string {
    const id = `n${this.nodes.length}`;
    this.nodes.push({ ...what, id, frame });
    for (const { from, label } of entries)
      this.edges.push({ from, to: id, label, isDashed: false });
    return id;
  }

  #node(node: FlowNode, spot: Spot, entries: readonly Exit[]): readonly Exit[] {
    const path = spot.prefix + node.id;
    const own = (hint: string, title = node.id): string =>
      this.box({ kind: node.kind, title, hint, path }, spot, entries);
    switch (node.kind) {
      case "task":
        return [exit(own(node.activity === node.id ? "" : (node.activity ?? "")))];
      case "child":
        return [exit(own(node.orchestration))];
      case "delay":
        return [exit(own(formatDuration(node.delayMs)))];
      case "wait": {
        const limit = node.timeoutMs === undefined ? "" : `, ${formatDuration(node.timeoutMs)}`;
        return [exit(own(`${node.signal}${limit}`))];
      }
      case "fork": {
        const fork = own("all branches");
        const exits = this.#branches(node.branches, path, spot, fork);
        const join = this.box({ kind: "join", title: "", hint: "", path: null }, spot, exits);
        return [exit(join)];
      }
      case "route": {
        const route = own("one branch");
        const cases =
          node.otherwise === undefined
            ? node.cases
            : [...node.cases, { key: OTHERWISE, nodes: node.otherwise }];
        return this.#branches(cases, path, spot, route);
      }
      case "loop":
      case "map":
        return this.#repeated(node, path, spot, entries);
      case "call": {
        const inside = this.#frame(`${node.id}: ${node.flow}`, path, spot);
        return this.level(node.nodes, { prefix: `${path}/`, frame: inside }, entries);
      }
      case "catch": {
        const first = this.nodes.length;
        const inside = this.#frame(`watched by ${node.id}`, path, spot);
        const exits = this.level(node.nodes, { prefix: spot.prefix, frame: inside }, entries);
        const watched = this.nodes.slice(first).at(-1)?.id;
        const handler = this.box(
          { kind: "catch", title: node.id, hint: "on failure", path },
          spot,
          [],
        );
        if (watched !== undefined) {
          this.edges.push({ from: watched, to: handler, label: "failure", isDashed: true });
        }
        const handled = this.level(node.handler, { prefix: `${path}/`, frame: spot.frame }, [
          exit(handler),
        ]);
        return [...exits, ...handled];
      }
    }
  }

  #branches(
    branches: readonly KeyedNodes[],
    path: string,
    spot: Spot,
    from: string,
  ): readonly Exit[] {
    return branches.flatMap(({ key, nodes }) =>
      this.level(nodes, { prefix: branchPrefix(path, key), frame: spot.frame }, [
        { from, label: key },
      ]),
    );
  }

  #repeated(
    node: LoopNode | MapNode,
    path: string,
    spot: Spot,
    entries: readonly Exit[],
  ): readonly Exit[] {
    const isLoop = node.kind === "loop";
    const hint = isLoop ? `at most ${node.maxIterations} rounds` : `${node.concurrency} at a time`;
    const frame = this.#frame(isLoop ? "loop" : "for each item", path, spot);
    const inside: Spot = { prefix: `${path}/`, frame };
    const head = this.box({ kind: node.kind, title: node.id, hint, path }, inside, entries);
    const exits = this.level(node.nodes, inside, [exit(head)]);
    if (isLoop) {
      for (const { from } of exits) {
        if (from !== head) this.edges.push({ from, to: head, label: "again", isDashed: true });
      }
    }
    return exits.map(({ from }) => ({ from, label: isLoop ? "done" : "all" }));
  }

  #frame(title: string, path: string, spot: Spot): string {
    const id = `f${this.frames.length}`;
    this.frames.push({ id, title, path, frame: spot.frame });
    return id;
  }
}

function exit(from: string): Exit {
  return { from, label: "" };
}
