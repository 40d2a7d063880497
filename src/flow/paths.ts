// Where a node is: its path from the flow's beginning, and the levels below it.
//   PA1. A path is the ids on the way, joined: `fork.mail/send`, `refine#3/step`, `call/step`. `#n` numbers the round of
//        a loop or the item of a map and stands only in paths of a running flow; in a definition it is left out.
//   PA2. What a catch watches over stands on the catch's own level: adding one renames nothing.

import type { FlowNode, WorkDefinition } from "./definition.ts";

export interface Level {
  /** What the paths on it begin with: empty, or ending in "/". */
  readonly prefix: string;
  readonly nodes: readonly FlowNode[];
}
/** Something that runs as an activity, and the path it is known by. */
export interface Work {
  readonly path: string;
  readonly definition: WorkDefinition;
}

export const OTHERWISE = "otherwise";

export function branchPrefix(path: string, key: string): string {
  return `${path}.${key}/`;
}
export function roundPrefix(path: string, index: number): string {
  return `${path}#${index}/`;
}
export function deferPath(path: string): string {
  return `${path}.defer`;
}
export function itemsPath(path: string): string {
  return `${path}.items`;
}
export function keyPath(path: string): string {
  return `${path}.key`;
}

/** The path in the definition of what ran at a path. */
export function definitionPath(path: string): string {
  return path.replace(/#\d+/g, "");
}

/** The levels right below a node. */
/** How deep levels of a flow may lie within each other: each is a few frames on the stack of whatever walks them. */
export const LEVELS_MAX = 100;
/** What a flow that is deeper is told. */
export const TOO_DEEP = `the flow has more than ${LEVELS_MAX} levels within each other`;

export function levelsOf(node: FlowNode, prefix: string): readonly Level[] {
  const path = prefix + node.id;
  switch (node.kind) {
    case "fork":
      return node.branches.map(({ key, nodes }) => ({ prefix: branchPrefix(path, key), nodes }));
    case "route": {
      const cases = node.cases.map(({ key, nodes }) => ({
        prefix: branchPrefix(path, key),
        nodes,
      }));
      if (node.otherwise === undefined) return cases;
      return [...cases, { prefix: branchPrefix(path, OTHERWISE), nodes: node.otherwise }];
    }
    case "map":
    case "loop":
    case "call":
      return [{ prefix: `${path}/`, nodes: node.nodes }];
    case "catch":
      return [
        { prefix, nodes: node.nodes },
        { prefix: `${path}/`, nodes: node.handler },
      ];
    case "task":
    case "delay":
    case "wait":
    case "child":
      return [];
  }
}

/** What of a node runs as an activity. */
export function worksOf(node: FlowNode, path: string): readonly Work[] {
  switch (node.kind) {
    case "task":
      return [{ path, definition: node }, ...deferred(node.defer, path)];
    case "map":
      return [{ path: itemsPath(path), definition: node.items }];
    case "route":
      return [{ path: keyPath(path), definition: node.key }];
    case "call":
    case "child":
      return deferred(node.defer, path);
    default:
      return [];
  }
}

function deferred(defer: WorkDefinition | undefined, path: string): readonly Work[] {
  return defer === undefined ? [] : [{ path: deferPath(path), definition: defer }];
}

export interface Place {
  readonly node: FlowNode;
  readonly path: string;
  /** The path of the node that it is below; null on the first level. */
  readonly parent: string | null;
  /** The path of the node before it on its level. */
  readonly after: string | null;
}

/** Every node, before what is below it and after what it watches over. */
export function* walk(
  nodes: readonly FlowNode[],
  prefix = "",
  parent: string | null = null,
): Generator<Place> {
  let after: string | null = null;
  for (const node of nodes) {
    const path = prefix + node.id;
    const levels = levelsOf(node, prefix);
    for (const { nodes: watched } of levels.filter((level) => level.prefix === prefix)) {
      yield* walk(watched, prefix, parent);
      const last: FlowNode | undefined = watched.at(-1);
      if (last !== undefined) after = prefix + last.id;
    }
    yield { node, path, parent, after };
    for (const level of levels) {
      if (level.prefix !== prefix) yield* walk(level.nodes, level.prefix, path);
    }
    after = path;
  }
}
