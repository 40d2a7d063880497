// Asks the instance: sends a request and shows the answer, the refusal, or why there is no answer yet.
//   - A repeated question after a missing answer uses the same request id, so the instance receives it once.

import { useId, useMemo, useRef, useState, type ReactElement } from "react";
import { isInternalRequest } from "../../../src/core/history/awaited-event.ts";
import { instances } from "../api/endpoints.ts";
import { ApiProblem } from "../api/problem.ts";
import { newRequestId } from "../api/request.ts";
import type { FailureShape, Instance } from "../api/types.ts";
import { formOf, type FormShape } from "../forms/form-shape.ts";
import { emptyDraft, InputField, valueOfDraft, type RefusedInput } from "../forms/input-field.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { FailureView } from "../values/failure-view.tsx";
import { ValueView } from "../values/value-view.tsx";

type Outcome =
  | { readonly kind: "answered"; readonly answer?: unknown }
  | { readonly kind: "open"; readonly reason: string }
  | { readonly kind: "refused"; readonly failure: FailureShape }
  | { readonly kind: "failed"; readonly failure: FailureShape };

/** The names of the requests that the code serves now, without those that only library code sends. */
export function servedNames({ waitingFor }: Pick<Instance, "waitingFor">): readonly string[] {
  const names = waitingFor.flatMap((wait) => (wait.kind === "requests" ? wait.names : []));
  return [...new Set(names)].filter((name) => !isInternalRequest(name));
}

/** The form for the input of a request that the code serves. Null: no JSON Schema of it is known. */
function formFor({ waitingFor }: Instance, name: string): FormShape | null {
  for (const wait of waitingFor) {
    if (wait.kind !== "requests" || !wait.names.includes(name)) continue;
    const { schemas = {} } = wait;
    if (Object.hasOwn(schemas, name)) return formOf(schemas[name]);
  }
  return null;
}

/** The properties of a schema's error name the refused part of the input. */
function refusedInput({ message, data }: FailureShape): RefusedInput {
  const isNamed = typeof data === "object" && data !== null && "path" in data;
  return { message, path: isNamed && typeof data.path === "string" ? data.path : undefined };
}

export function AskDialog({
  instance,
  name: given,
  onDone,
  onClose,
}: {
  readonly instance: Instance;
  readonly name?: string | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}): ReactElement {
  const served = servedNames(instance);
  const [name, setName] = useState(given ?? served[0] ?? "");
  const form = useMemo(() => formFor(instance, name.trim()), [instance, name]);
  const [draft, setDraft] = useState(() => emptyDraft(form));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const requestId = useRef<string | null>(null);
  const listId = useId();
  const parsed = valueOfDraft(draft);
  const request = name.trim();
  const edit = (change: () => void): void => {
    requestId.current = null;
    setOutcome(null);
    change();
  };
  const rename = (next: string): void => {
    setName(next);
    const nextForm = formFor(instance, next.trim());
    if (form !== null || nextForm !== null) setDraft(emptyDraft(nextForm));
  };
  const ask = async (): Promise<void> => {
    requestId.current ??= newRequestId();
    const body = {
      requestId: requestId.current,
      ...(parsed.kind === "value" ? { input: parsed.value } : {}),
    };
    const found = await outcomeOf(instances.ask(instance.id, request, body));
    if (found.kind !== "open") requestId.current = null;
    setOutcome(found);
    onDone();
  };
  return (
    <Dialog
      title="Ask the instance"
      confirm={outcome?.kind === "open" ? "Wait longer" : "Ask"}
      isReady={request !== "" && parsed.kind !== "wrong"}
      staysOpen
      onConfirm={ask}
      onClose={onClose}
    >
      <label className="field">
        <span>Request</span>
        <input
          className="input"
          required
          autoFocus={name === ""}
          list={listId}
          value={name}
          onChange={(event) => edit(() => rename(event.target.value))}
        />
        <datalist id={listId}>
          {served.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      {request === "" || served.includes(request) ? null : (
        <p className="note" data-tone="warn" role="status">
          <Icon name="warning" />
          <span className="grow">
            The instance does not serve the request "{request}" now. The request waits until the
            code serves it.
          </span>
        </p>
      )}
      <InputField
        form={form}
        draft={draft}
        refused={outcome?.kind === "refused" ? refusedInput(outcome.failure) : undefined}
        onDraft={(next) => edit(() => setDraft(next))}
      />
      <div role="status">{outcome === null ? null : <OutcomeView outcome={outcome} />}</div>
    </Dialog>
  );
}

function OutcomeView({ outcome }: { readonly outcome: Outcome }): ReactElement | null {
  switch (outcome.kind) {
    case "answered":
      return (
        <section aria-label="Answer">
          <h3 className="payload-name">Answer</h3>
          {"answer" in outcome ? (
            <ValueView value={outcome.answer} label="the answer" />
          ) : (
            <p className="muted">The instance answered without a value.</p>
          )}
        </section>
      );
    case "open":
      return (
        <p className="note" data-tone="warn">
          <Icon name="clock" />
          <span className="grow">No answer yet: {outcome.reason} The request stays sent.</span>
        </p>
      );
    case "refused":
      return null; // shown at the field
    case "failed":
      return <FailureView failure={outcome.failure} />;
  }
}

/** Rejects for every error that is not a refusal of the instance. */
async function outcomeOf(asked: ReturnType<typeof instances.ask>): Promise<Outcome> {
  try {
    const given = await asked;
    return { kind: "answered", ...("answer" in given ? { answer: given.answer } : {}) };
  } catch (error) {
    if (error instanceof ApiProblem && error.refusal !== undefined) return error.refusal;
    if (error instanceof ApiProblem && error.code === "TIMEOUT") {
      return { kind: "open", reason: error.message };
    }
    throw error;
  }
}
