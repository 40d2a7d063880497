// A definition made ready to run: every node with the activities it asks for.
//   PR1. One node of a definition may stand at several paths (a flow that is called twice), so what depends on the path
//        is kept beside the node, never on it.

import type { Orchestration } from "../core/definitions.ts";
import type { NodeActivity } from "../core/node-calls.ts";
import type { FlowDefinition, FlowNode, WorkDefinition } from "./definition.ts";
import { ownActivityName } from "./hash.ts";
import { deferPath, levelsOf, worksOf } from "./paths.ts";

export interface Prepared {
  readonly node: FlowNode;
  /** What runs the task, or works out the items or the key. */
  readonly work: NodeActivity | null;
  readonly undo: NodeActivity | null;
  /** The orchestration that a child node names, where it is known: its schema checks the input. */
  readonly target: Orchestration<never, unknown> | null;
  /** The levels below, in the order of `levelsOf`. */
  readonly levels: readonly (readonly Prepared[])[];
}
export interface PreparedFlow {
  readonly nodes: readonly Prepared[];
  readonly compactAfter: number | undefined;
  /** Compensations by their path in the definition. */
  readonly undos: ReadonlyMap<string, NodeActivity>;
}

export type Targets = ReadonlyMap<string, Orchestration<never, unknown>>;

/** `targets` are orchestrations by name. */
export function prepare(definition: FlowDefinition, hash: string, targets: Targets): PreparedFlow {
  const { name, metadata, nodes, compactAfter } = definition;
  const undos = new Map<string, NodeActivity>();
  const activityOf = (work: WorkDefinition, path: string): NodeActivity => {
    const noted = {
      ...(work.metadata === undefined ? {} : { node: work.metadata }),
      ...(metadata === undefined ? {} : { flow: metadata }),
    };
    return {
      name: work.activity ?? ownActivityName(name, hash, path),
      options: work.options ?? {},
      ...(Object.keys(noted).length === 0 ? {} : { metadata: noted }),
    };
  };
  const level = (list: readonly FlowNode[], prefix: string): readonly Prepared[] =>
    list.map((node) => {
      const path = prefix + node.id;
      let work: NodeActivity | null = null;
      let undo: NodeActivity | null = null;
      for (const each of worksOf(node, path)) {
        const activity = activityOf(each.definition, each.path);
        if (each.path !== deferPath(path)) work = activity;
        else {
          undo = activity;
          undos.set(each.path, activity);
        }
      }
      const levels = levelsOf(node, prefix).map((below) => level(below.nodes, below.prefix));
      const target = (node.kind === "child" && targets.get(node.orchestration)) || null;
      return { node, work, undo, target, levels };
    });
  return { nodes: level(nodes, ""), compactAfter, undos };
}
