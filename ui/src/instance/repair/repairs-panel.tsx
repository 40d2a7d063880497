// The repairs that led to this execution: what was done, when, by whom and why.

import type { ReactElement } from "react";
import type { Instance, Repair } from "../../api/types.ts";
import { formatDateTime } from "../../parts/format.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { InstanceLink } from "../../parts/instance-link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { repairWords } from "./repair-words.ts";

const ICONS: Readonly<Record<Repair["kind"], IconName>> = {
  rewind: "again",
  restart: "play",
  fork: "fork",
};

export function RepairsPanel({ instance }: { readonly instance: Instance }): ReactElement | null {
  const { repairs = [] } = instance;
  if (repairs.length === 0) return null;
  return (
    <Panel title="Repairs" isFlush>
      <ul className="waits" aria-label="Repairs">
        {repairs.map((repair, index) => (
          <li key={index}>
            <Icon name={ICONS[repair.kind]} />
            <div className="grow">
              <p>
                {repairWords(repair)}
                {repair.source === undefined ? null : (
                  <>
                    {" "}
                    <InstanceLink id={repair.source} />
                  </>
                )}
                {repair.by === undefined ? null : (
                  <>
                    {" "}
                    by <strong className="wrap">{repair.by}</strong>
                  </>
                )}
                , <TimeAgo at={repair.at} />{" "}
                <span className="faint">{formatDateTime(repair.at)}</span>
              </p>
              <p className="wrap">{repair.reason}</p>
              {repair.replaced === undefined ? null : (
                <p className="muted">
                  Replaced outcomes:{" "}
                  {repair.replaced.map((sequence) => `event ${sequence}`).join(", ")}
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
