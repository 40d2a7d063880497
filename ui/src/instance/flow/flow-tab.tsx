// The tab with the graph of a flow and the state of each node.

import { useMemo, type ReactElement } from "react";
import { inspect } from "../../api/endpoints.ts";
import type { Instance } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { setQuery, useHashLocation } from "../../router/hash-location.ts";
import { isEnded } from "../actions.ts";
import { FlowGraph } from "./flow-graph.tsx";
import { graphOf } from "./graph.ts";
import { layOut } from "./layout.ts";
import { NodeDetail } from "./node-detail.tsx";
import { NodeTable } from "./node-table.tsx";
import { nodeStates } from "./node-states.ts";
import { useFlowSpans } from "./use-flow-spans.ts";

export function FlowTab({
  instance,
  execution,
}: {
  readonly instance: Instance;
  readonly execution: number;
}): ReactElement {
  const { id, name, version, updatedAt } = instance;
  const location = useHashLocation();
  const { spans, problem } = useFlowSpans(id, execution, updatedAt);
  const flow = useLoaded(`flow ${name} ${version ?? ""}`, (signal) => inspect.flow(id, signal));
  const isOver = isEnded(instance) || execution !== instance.execution;
  const definition = flow.data?.definition;
  const laid = useMemo(
    () => (definition === undefined ? null : layOut(graphOf(definition))),
    [definition],
  );
  const states = useMemo(() => {
    const paths = (laid?.nodes ?? []).flatMap(({ path }) => (path === null ? [] : [path]));
    return nodeStates([...paths, ...(laid?.frames ?? []).map(({ path }) => path)], spans, isOver);
  }, [laid, spans, isOver]);
  const selected = location.query.get("node");
  const select = (path: string): void => setQuery({ node: path === selected ? null : path });
  return (
    <div className="stack">
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      {flow.problem === undefined ? null : (
        <ProblemNote problem={flow.problem} retry={flow.refresh} />
      )}
      {laid === null ? (
        flow.isLoading ? (
          <Loading rows={5} />
        ) : (
          <>
            <p className="note">
              No running worker registers this version of the flow, so its definition is unknown
              here. These nodes have run.
            </p>
            <NodeTable spans={spans} />
          </>
        )
      ) : (
        <FlowGraph
          laid={laid}
          states={states}
          hasEnded={instance.status === "completed" && execution === instance.execution}
          selected={selected}
          onSelect={select}
        />
      )}
      {selected === null ? null : (
        <NodeDetail
          id={id}
          execution={execution}
          path={selected}
          spans={spans}
          onClose={() => select(selected)}
        />
      )}
    </div>
  );
}
