// The banner on every page while no worker is running. Instances do not advance until one starts.

import type { ReactElement } from "react";
import { store } from "../api/endpoints.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Command } from "../parts/command.tsx";
import { Icon } from "../parts/icon.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";

const REFRESH_MS = 2_000;
const EVERY_MS = 5_000;

export function NoWorker(): ReactElement | null {
  const { data, refresh } = useLoaded("runtimes", store.runtimes, { everyMs: EVERY_MS });
  useChanges(anything, refresh, REFRESH_MS);
  if (data === undefined || data.some(({ alive }) => alive)) return null;
  const last = data
    .map(({ lastBeatAt }) => lastBeatAt)
    .toSorted()
    .at(-1);
  return (
    <div className="note banner" data-tone="danger" role="alert">
      <Icon name="warning" />
      <div className="grow">
        <strong>No worker is running.</strong> Instances wait until one starts.
        {last === undefined ? null : (
          <>
            {" "}
            The last heartbeat was <TimeAgo at={last} />.
          </>
        )}{" "}
        Start one with <Command text="npx perdure worker" />
      </div>
    </div>
  );
}
