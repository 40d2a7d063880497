// The header of an instance: id, name, status, times.

import type { ReactElement } from "react";
import type { Instance } from "../api/types.ts";
import { AttributeTags } from "../parts/attribute-tags.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Elapsed } from "../parts/elapsed.tsx";
import { Fact } from "../parts/fact.tsx";
import { formatDateTime, shortVersion } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { InstanceLink } from "../parts/instance-link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";
import { ValueBrief } from "../values/value-view.tsx";

/** The tab "State" shows the complete custom status. */
const STATUS_CHARS_MAX = 200;

export function InstanceHeader({ instance }: { readonly instance: Instance }): ReactElement {
  const { id, name, version, status, blocked, parent, attributes, paused, cancelled } = instance;
  return (
    <header className="instance-head">
      <p className="crumbs">
        <a href={addressTo(["instances"])}>Instances</a> ›{" "}
        <a href={addressTo(["instances"], new URLSearchParams({ name }))}>{name}</a>
        {parent === undefined ? null : (
          <>
            {" "}
            › child of <InstanceLink id={parent.id} />
          </>
        )}
      </p>
      <div className="row">
        <h1 className="mono wrap">{id}</h1>
        <CopyButton text={id} label="Copy the id" />
        <StatusBadge status={status} />
        {blocked === undefined ? null : <StatusBadge status="blocked" />}
      </div>
      {instance.customStatus === undefined ? null : (
        <p className="custom-status" aria-label="Custom status">
          {typeof instance.customStatus === "string" ? (
            <span className="wrap">{instance.customStatus.slice(0, STATUS_CHARS_MAX)}</span>
          ) : (
            <ValueBrief value={instance.customStatus} charsMax={STATUS_CHARS_MAX} />
          )}
        </p>
      )}
      <dl className="facts">
        <Fact name="Orchestration">
          {name} <span className="faint">{shortVersion(version)}</span>
        </Fact>
        <Fact name="Created">
          <span title={formatDateTime(instance.createdAt)}>
            <TimeAgo at={instance.createdAt} />
          </span>
        </Fact>
        <Fact name="Updated">
          <TimeAgo at={instance.updatedAt} />
        </Fact>
        <Fact name={instance.completedAt === undefined ? "Age" : "Duration"}>
          <Elapsed from={instance.createdAt} to={instance.completedAt} />
        </Fact>
        <Fact name="Execution">{instance.execution}</Fact>
        <Fact name="Priority">{instance.priority}</Fact>
      </dl>
      <AttributeTags attributes={attributes} />
      {paused === undefined ? null : (
        <p className="note" data-tone="warn">
          <Icon name="pause" />
          <span className="grow">
            Paused <TimeAgo at={paused.at} />
            {paused.by === undefined ? "" : ` by ${paused.by}`}: {paused.reason}
          </span>
        </p>
      )}
      {cancelled === undefined ? null : (
        <p className="note" data-tone="warn">
          <Icon name="minus" />
          <span className="grow">
            {status === "cancelled" ? "Cancelled" : "Cancellation requested"}
            {cancelled.by === undefined ? "" : ` by ${cancelled.by}`}: {cancelled.reason}
            <CancelEffects cancelled={cancelled} />
          </span>
        </p>
      )}
      {instance.unclaimed === undefined ? null : (
        <p className="note" data-tone="warn">
          <Icon name="warning" />
          <span className="grow">No worker can run this: {instance.unclaimed}</span>
        </p>
      )}
      {instance.unreadable === undefined ? null : (
        <p className="note" data-tone="warn">
          <Icon name="lock" />
          <span className="grow wrap">
            The result or the custom status cannot be read: {instance.unreadable}
          </span>
        </p>
      )}
    </header>
  );
}

/** How many interrupted calls are named. */
const INTERRUPTED_SHOWN = 5;

/** The calls that were open at the cancel request, and whether the cleanup succeeded. */
function CancelEffects({
  cancelled: { interrupted = [], cleanedUp },
}: {
  readonly cancelled: NonNullable<Instance["cancelled"]>;
}): ReactElement | null {
  const names = interrupted
    .slice(0, INTERRUPTED_SHOWN)
    .map(({ kind, name }) => (kind === name ? kind : `${kind} ${name}`));
  const more = interrupted.length - names.length;
  const texts = [
    ...(names.length === 0
      ? []
      : [`Open at that time: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`]),
    ...(cleanedUp === undefined
      ? []
      : [cleanedUp ? "The cleanup is complete." : "The cleanup is not complete."]),
  ];
  return texts.length === 0 ? null : <span className="muted"> {texts.join(" ")}</span>;
}
