// The tab with the input and the output.

import type { ReactElement } from "react";
import { inspect } from "../api/endpoints.ts";
import type { Instance } from "../api/types.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ValueView } from "../values/value-view.tsx";

export function PayloadTab({
  instance,
  execution,
}: {
  readonly instance: Instance;
  readonly execution: number;
}): ReactElement {
  const { id, status, output } = instance;
  const start = useLoaded(`event ${id} ${execution} 1`, (signal) =>
    inspect.event(id, 1, execution, signal),
  );
  const isCurrent = execution === instance.execution;
  const notYet = start.problem?.code === "EVENT_NOT_FOUND";
  return (
    <div className="columns">
      <Panel title="Input">
        {start.data !== undefined ? (
          "input" in start.data ? (
            <ValueView value={start.data.input} label="the input" />
          ) : (
            <p className="muted">Started without input.</p>
          )
        ) : notYet ? (
          <p className="muted">The first turn has not run yet. The input appears after it.</p>
        ) : start.problem === undefined ? (
          <Loading rows={2} />
        ) : (
          <ProblemNote problem={start.problem} retry={start.refresh} />
        )}
      </Panel>
      <Panel title="Output">
        {!isCurrent ? (
          <p className="muted">
            This is an earlier execution. Its last history event shows how it ended.
          </p>
        ) : output !== undefined ? (
          <ValueView value={output} label="the output" />
        ) : (
          <p className="muted">
            {status === "completed"
              ? "Completed without output."
              : instance.error === undefined
                ? "Not ended yet."
                : "None: the instance ended with an error."}
          </p>
        )}
      </Panel>
    </div>
  );
}
