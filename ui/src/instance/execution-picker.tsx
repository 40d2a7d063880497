// Selects the execution to show, if there are several.

import type { ReactElement } from "react";
import type { Execution } from "../api/types.ts";
import { setQuery } from "../router/hash-location.ts";

export function ExecutionPicker({
  executions = [],
  selected,
}: {
  readonly executions: readonly Execution[] | undefined;
  readonly selected: number;
}): ReactElement | null {
  if (executions.length < 2) return null;
  const newest = executions.at(-1)?.execution;
  return (
    <label className="row">
      <span className="muted">Execution</span>
      <select
        className="input execution-picker"
        value={selected}
        onChange={(event) => {
          const number = Number(event.target.value);
          const execution = number === newest ? null : String(number);
          setQuery({ execution, event: null, span: null }, {});
        }}
      >
        {executions.toReversed().map(({ execution, status, events }) => (
          <option key={execution} value={execution}>
            {execution} · {status} · {events} events
          </option>
        ))}
      </select>
    </label>
  );
}
