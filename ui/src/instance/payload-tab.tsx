// What went in and what came out.

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
            <p className="muted">It was started without an input.</p>
          )
        ) : notYet ? (
          <p className="muted">Its first turn has not run yet; the input is shown then.</p>
        ) : start.problem === undefined ? (
          <Loading rows={2} />
        ) : (
          <ProblemNote problem={start.problem} retry={start.refresh} />
        )}
      </Panel>
      <Panel title="Output">
        {!isCurrent ? (
          <p className="muted">
            An earlier execution: its last event in the history tells its end.
          </p>
        ) : output !== undefined ? (
          <ValueView value={output} label="the output" />
        ) : (
          <p className="muted">
            {status === "completed"
              ? "It completed without an output."
              : instance.error === undefined
                ? "It has not ended."
                : "It has none: it ended with an error."}
          </p>
        )}
      </Panel>
    </div>
  );
}
