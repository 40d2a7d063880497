// Lists completed work that a restart runs again, such as a payment.

import type { ReactElement } from "react";
import { inspect } from "../../api/endpoints.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Icon } from "../../parts/icon.tsx";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";

const SHOWN = 20;

export function RepeatedWork({ id }: { readonly id: string }): ReactElement {
  const { data, problem, isLoading, refresh } = useLoaded(`completed ${id}`, (signal) =>
    inspect.completed(id, signal),
  );
  if (problem !== undefined) return <ProblemNote problem={problem} retry={refresh} />;
  if (isLoading || data === undefined) return <Loading rows={2} />;
  if (data.length === 0) return <p className="muted">No work has completed yet.</p>;
  return (
    <div className="note" data-tone="warn">
      <Icon name="warning" />
      <div className="grow">
        <p>This work already completed and will run again, with new idempotency keys:</p>
        <ul className="repeated" aria-label="Completed work that will run again">
          {data.slice(0, SHOWN).map(({ kind, name, count }) => (
            <li key={`${kind} ${name}`}>
              {kind} <strong className="wrap">{name}</strong>
              {count === 1 ? "" : `, ${count} times`}
            </li>
          ))}
          {data.length <= SHOWN ? null : <li>and {data.length - SHOWN} more</li>}
        </ul>
      </div>
    </div>
  );
}
