// Paths: the path of a node from the start of the flow, and the levels nested in a node.
//   - A path joins the ids of the enclosing nodes: `fork.mail/send`, `refine#3/step`, `call/step`. `#n` is
//        the round of a loop or the item of a map. It occurs only in the paths of a running flow; paths in
//        a definition omit it.
//   - paths.1: The nodes that a catch guards are on the same level as the catch. Adding a catch therefore
//        changes no path.

import type { FlowNode, WorkDefinition } from "./definition.ts";

export interface Level {
  /** The start of every path on this level: empty, or ending in "/". */
  readonly prefix: string;
  readonly nodes: readonly FlowNode[];
}
/** A part of a node that runs as an activity, and its path. */
export interface NodeWork {
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
/**
 * The path under which a compensation runs. Histories hold it: it keeps its ending whatever the builder
 * calls it.
 */
export function deferPath(path: string): string {
  return `${path}.defer`;
}
export function itemsPath(path: string): string {
  return `${path}.items`;
}
export function keyPath(path: string): string {
  return `${path}.key`;
}

/** The path in the definition for a path of a running flow: without round numbers. */
export function definitionPath(path: string): string {
  return path.replace(/#\d+/g, "");
}

/**
 * The maximum number of nested levels. Functions that walk a flow recursively use a few stack frames per
 * level.
 */
export const LEVELS_MAX = 100;
/** The message for a deeper flow. */
export const TOO_DEEP = `the flow has more than ${LEVELS_MAX} nested levels`;

/** The levels directly inside a node. */
export function levelsOf(node: FlowNode, prefix: string): readonly Level[] {
  const path = prefix + node.id;
  switch (node.kind) {
    case "fork":
      return node.branches.map(({ key, nodes }) => ({ prefix: branchPrefix(path, key), nodes }));
    case "route": {
      const { cases, otherwise } = node;
      const all =
        otherwise === undefined ? cases : [...cases, { key: OTHERWISE, nodes: otherwise }];
      return all.map(({ key, nodes }) => ({ prefix: branchPrefix(path, key), nodes }));
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

/** The parts of a node that run as activities. */
export function nodeWorkOf(node: FlowNode, path: string): readonly NodeWork[] {
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

function deferred(defer: WorkDefinition | undefined, path: string): readonly NodeWork[] {
  return defer === undefined ? [] : [{ path: deferPath(path), definition: defer }];
}

/** A node of a definition with its position. */
export interface NodePosition {
  readonly node: FlowNode;
  readonly path: string;
  /** The path of the enclosing node. Null on the first level. */
  readonly parent: string | null;
  /** The path of the previous node on its level. */
  readonly after: string | null;
}

/**
 * Every node in order: a node comes before the nodes inside it, and a catch after the nodes that it guards.
 */
export function* walk(
  nodes: readonly FlowNode[],
  prefix = "",
  parent: string | null = null,
): Generator<NodePosition> {
  let after: string | null = null;
  for (const node of nodes) {
    const path = prefix + node.id;
    const levels = levelsOf(node, prefix);
    for (const { nodes: guarded } of levels.filter((level) => level.prefix === prefix)) {
      yield* walk(guarded, prefix, parent);
      const last: FlowNode | undefined = guarded.at(-1);
      if (last !== undefined) after = prefix + last.id;
    }
    yield { node, path, parent, after };
    for (const level of levels) {
      if (level.prefix !== prefix) yield* walk(level.nodes, level.prefix, path);
    }
    after = path;
  }
}
