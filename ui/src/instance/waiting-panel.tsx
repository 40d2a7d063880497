// Shows what the instance waits for, with buttons to raise an awaited event and to ask for a served request.

import { useState, type ReactElement } from "react";
import { isInternalRequest } from "../../../src/core/history/awaited-event.ts";
import { useSession, whyNot } from "../api/session.ts";
import type { Instance, Waiting } from "../api/types.ts";
import { formatDateTime, plural } from "../parts/format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { InstanceLink } from "../parts/instance-link.tsx";
import { Panel } from "../parts/panel.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { ValueBrief } from "../values/value-view.tsx";
import { isEnded } from "./actions.ts";
import { AskDialog } from "./ask-dialog.tsx";
import { RaiseDialog } from "./raise-dialog.tsx";
import { retryWords } from "./timeline/span-words.ts";

const SHOWN_FIRST = 10;
export const KIND_ICONS: Readonly<Record<Waiting["kind"], IconName>> = {
  timer: "clock",
  event: "bell",
  activity: "bolt",
  step: "step",
  child: "child",
  ask: "ask",
  requests: "inbox",
  callback: "out",
};
/** How many names of served requests have a button. The dialog offers all of them. */
const ASK_BUTTONS = 3;

export function WaitingPanel({
  instance,
  onDone,
}: {
  readonly instance: Instance;
  readonly onDone: () => void;
}): ReactElement | null {
  const [limit, setLimit] = useState(SHOWN_FIRST);
  const [raising, setRaising] = useState<string | null>(null);
  const [asking, setAsking] = useState<string | null>(null);
  const refusal = whyNot(useSession(), "operator");
  const { waitingFor } = instance;
  if (isEnded(instance)) return null;
  const button = (title: string, onClick: () => void): ReactElement => (
    <button
      key={title}
      type="button"
      className="button"
      data-size="small"
      disabled={refusal !== null}
      title={refusal ?? undefined}
      onClick={onClick}
    >
      {title}
    </button>
  );
  return (
    <Panel title="Waiting for" isFlush>
      {waitingFor.length === 0 ? (
        <p className="panel-body muted">
          Nothing. The {instance.status === "pending" ? "first" : "next"} turn has not run yet.
        </p>
      ) : (
        <ul className="waits">
          {waitingFor.slice(0, limit).map((wait) => (
            <li key={wait.sequence}>
              <Icon name={KIND_ICONS[wait.kind]} />
              <div className="grow">
                <Words wait={wait} />
                {wait.node === undefined ? null : (
                  <span className="faint"> at node {wait.node}</span>
                )}
              </div>
              {wait.kind === "event" && wait.internal !== true
                ? button(`Raise ${wait.name}`, () => setRaising(wait.name))
                : null}
              {wait.kind === "requests" ? (
                <div className="row">
                  {wait.names
                    .filter((name) => !isInternalRequest(name))
                    .slice(0, ASK_BUTTONS)
                    .map((name) => button(`Ask ${name}`, () => setAsking(name)))}
                </div>
              ) : null}
            </li>
          ))}
          {waitingFor.length <= limit ? null : (
            <li>
              <button
                type="button"
                className="button"
                data-size="small"
                onClick={() => setLimit(limit * 10)}
              >
                {plural(waitingFor.length - limit, "more", "more")}
              </button>
            </li>
          )}
        </ul>
      )}
      {raising === null ? null : (
        <RaiseDialog
          instance={instance}
          name={raising}
          onDone={onDone}
          onClose={() => setRaising(null)}
        />
      )}
      {asking === null ? null : (
        <AskDialog
          instance={instance}
          name={asking}
          onDone={onDone}
          onClose={() => setAsking(null)}
        />
      )}
    </Panel>
  );
}

function Words({ wait }: { readonly wait: Waiting }): ReactElement {
  switch (wait.kind) {
    case "timer":
      return (
        <>
          a timer, due <TimeAgo at={wait.due} />{" "}
          <span className="faint">{formatDateTime(wait.due)}</span>
        </>
      );
    case "event":
      return (
        <>
          {wait.internal === true ? "internal event" : "event"}{" "}
          <strong className="wrap">{wait.name}</strong>
          {wait.details === undefined ? null : (
            <>
              {" "}
              <ValueBrief value={wait.details} />
            </>
          )}
        </>
      );
    case "activity":
      return <ActivityWords wait={wait} />;
    case "step":
      return (
        <>
          step <strong className="wrap">{wait.name}</strong>, <Attempt wait={wait} />
          {wait.availableAt === undefined ? null : <Due at={wait.availableAt} />}
          <LastError wait={wait} />
        </>
      );
    case "child":
      return (
        <>
          child <strong className="wrap">{wait.name}</strong> <InstanceLink id={wait.id} />
        </>
      );
    case "callback":
      return (
        <>
          callback <strong className="wrap">{wait.name}</strong>
          , open since <TimeAgo at={wait.createdAt} />
          {wait.expiresAt === undefined ? (
            ", does not expire"
          ) : (
            <>
              , expires <TimeAgo at={wait.expiresAt} />{" "}
              <span className="faint">{formatDateTime(wait.expiresAt)}</span>
            </>
          )}
        </>
      );
    case "ask":
      return (
        <>
          the answer to <strong className="wrap">{wait.name}</strong> from{" "}
          <InstanceLink id={wait.id} />
        </>
      );
    case "requests":
      return (
        <>
          {wait.names.every(isInternalRequest) ? "internal " : ""}
          {wait.names.length === 1 ? "request" : "requests"}{" "}
          <strong className="wrap">{wait.names.join(", ")}</strong>
        </>
      );
  }
}

function ActivityWords({
  wait,
}: {
  readonly wait: Waiting & { readonly kind: "activity" };
}): ReactElement {
  const { name, worker, unclaimed, availableAt, progress, completesLater } = wait;
  return (
    <>
      activity <strong className="wrap">{name}</strong>, <Attempt wait={wait} />
      {completesLater === true ? (
        <CompletesLater timesOutAt={availableAt} />
      ) : worker !== undefined ? (
        <span className="muted">
          {" "}
          running on <span className="mono wrap">{worker}</span>
        </span>
      ) : availableAt === undefined ? null : (
        <Due at={availableAt} />
      )}
      {progress === undefined ? null : (
        <p>
          Progress: <ValueBrief value={progress} />
        </p>
      )}
      <LastError wait={wait} />
      {unclaimed === undefined ? null : (
        <p className="list-trouble wrap">No worker can run this: {unclaimed}</p>
      )}
    </>
  );
}

/** The attempt has returned, and a call from outside completes the activity. */
function CompletesLater({ timesOutAt }: { readonly timesOutAt: string | undefined }): ReactElement {
  return (
    <span className="muted">
      {" "}
      waits for its completion from outside
      {timesOutAt === undefined ? null : (
        <>
          , times out <TimeAgo at={timesOutAt} />
        </>
      )}
    </span>
  );
}

type Attempted = Waiting & { readonly kind: "activity" | "step" };

function Attempt({ wait: { attempt } }: { readonly wait: Attempted }): ReactElement {
  if (attempt === 1) return <>attempt 1</>;
  return <strong className="retrying">{retryWords(attempt)}</strong>;
}

function Due({ at }: { readonly at: string }): ReactElement {
  return (
    <span className="muted">
      {" "}
      {Date.parse(at) > Date.now() ? "next attempt" : "due"} <TimeAgo at={at} />
    </span>
  );
}

function LastError({ wait: { lastError } }: { readonly wait: Attempted }): ReactElement | null {
  if (lastError === undefined) return null;
  return <p className="list-trouble wrap">Last error: {lastError}</p>;
}
