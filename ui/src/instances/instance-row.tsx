// One row of the list of instances.

import { memo, type ReactElement } from "react";
import type { InstanceSummary } from "../api/types.ts";
import { AttributeTags } from "../parts/attribute-tags.tsx";
import { Elapsed } from "../parts/elapsed.tsx";
import { shortVersion } from "../parts/format.ts";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";
import { ValueBrief } from "../values/value-view.tsx";
import { ListWaits } from "./list-waits.tsx";

interface RowProps {
  readonly item: InstanceSummary;
  readonly index: number;
  readonly top: number;
  readonly height: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly onToggle: (id: string) => void;
  readonly onFocus: (index: number) => void;
}

export const InstanceRow = memo(InstanceRowView);

function InstanceRowView(props: RowProps): ReactElement {
  const { item, index, top, height, isActive, isSelected, onToggle, onFocus } = props;
  const { id, name, version, status, blocked, createdAt, completedAt } = item;
  return (
    <div
      className="list-row"
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isSelected}
      aria-label={`${id}, ${blocked === undefined ? status : "blocked"}, ${name}`}
      data-index={index}
      data-state={
        completedAt === undefined ? "live" : item.error === undefined ? "ended" : "failed"
      }
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, height }}
      onFocus={() => onFocus(index)}
    >
      <span role="gridcell" className="list-check">
        <input
          type="checkbox"
          className="checkbox"
          aria-label={`Select ${id}`}
          tabIndex={-1}
          checked={isSelected}
          onChange={() => onToggle(id)}
        />
      </span>
      <span role="gridcell" className="list-status">
        <StatusBadge status={blocked === undefined ? status : "blocked"} />
      </span>
      <span role="gridcell" className="list-id cut">
        <a className="mono" href={addressTo(["instances", id])} tabIndex={-1} title={id}>
          {id}
        </a>
      </span>
      <span role="gridcell" className="list-name cut" title={`${name} ${version ?? ""}`}>
        {name} <span className="faint">{shortVersion(version)}</span>
      </span>
      <span role="gridcell" className="list-waits cut">
        <ListWaits item={item} />
      </span>
      <span role="gridcell" className="list-more cut">
        <More item={item} />
      </span>
      <span role="gridcell" className="list-time">
        <TimeAgo at={createdAt} />
      </span>
      <span role="gridcell" className="list-time list-elapsed">
        <Elapsed from={createdAt} to={completedAt} />
      </span>
    </div>
  );
}

/** The most important further fact: an error, or attributes and the custom status. */
function More({ item }: { readonly item: InstanceSummary }): ReactElement | null {
  const { error, customStatus, attributes, unreadable } = item;
  if (error !== undefined) {
    return (
      <span className="list-trouble" title={error.message}>
        {error.name}: {error.message}
      </span>
    );
  }
  if (unreadable !== undefined) {
    return (
      <span className="faint" title={unreadable}>
        cannot be read: {unreadable}
      </span>
    );
  }
  return (
    <>
      <AttributeTags attributes={attributes} />
      {customStatus === undefined ? null : <ValueBrief value={customStatus} charsMax={60} />}
    </>
  );
}
