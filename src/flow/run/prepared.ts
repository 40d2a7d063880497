// A prepared definition: every node with the activities that it runs, computed once per flow.
//   - One node object may occur at several paths, because a flow can be called twice. Values that depend on
//        the path are therefore stored next to the node, not in it.

import type { Orchestration } from "../../core/define/definitions.ts";
import type { NodeActivity } from "../../core/context/node-calls.ts";
import { defined } from "../../core/values/defined.ts";
import type { FlowDefinition, FlowNode, WorkDefinition } from "../data/definition.ts";
import { ownActivityName } from "../data/hash.ts";
import { deferPath, levelsOf, nodeWorkOf } from "../data/paths.ts";

export interface Prepared {
  readonly node: FlowNode;
  /** The activity that runs the task, or that computes the items or the key. */
  readonly work: NodeActivity | null;
  readonly undo: NodeActivity | null;
  /** The orchestration of a child node, whose schema checks the input. Null: only its name is known. */
  readonly target: Orchestration<never, unknown> | null;
  /** The levels inside the node, in the order of `levelsOf`. */
  readonly levels: readonly (readonly Prepared[])[];
}
export interface PreparedFlow {
  readonly nodes: readonly Prepared[];
  readonly compactAfter: number | undefined;
  /** Compensations by their path in the definition. */
  readonly undos: ReadonlyMap<string, NodeActivity>;
}

/** Orchestrations of child nodes, by name. */
export type Targets = ReadonlyMap<string, Orchestration<never, unknown>>;

export function prepare(definition: FlowDefinition, hash: string, targets: Targets): PreparedFlow {
  const { name, metadata, nodes, compactAfter } = definition;
  const undos = new Map<string, NodeActivity>();
  const activityOf = (work: WorkDefinition, path: string): NodeActivity => {
    const allMetadata = defined({ node: work.metadata, flow: metadata });
    return {
      name: work.activity ?? ownActivityName(name, hash, path),
      options: work.options ?? {},
      ...(Object.keys(allMetadata).length === 0 ? {} : { metadata: allMetadata }),
    };
  };
  const level = (list: readonly FlowNode[], prefix: string): readonly Prepared[] =>
    list.map((node) => {
      const path = prefix + node.id;
      let work: NodeActivity | null = null;
      let undo: NodeActivity | null = null;
      for (const each of nodeWorkOf(node, path)) {
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
