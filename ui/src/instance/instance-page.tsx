// The page of one instance: its facts, waits, history and actions.

import { useCallback, type ReactElement } from "react";
import { inspect, instances } from "../api/endpoints.ts";
import type { Change } from "../api/changes.ts";
import { useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Empty } from "../parts/empty.tsx";
import { Loading } from "../parts/loading.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { addressTo } from "../router/hash-location.ts";
import { ActionBar } from "./action-bar.tsx";
import { BlockPanel } from "./block-panel.tsx";
import { EndingPanel } from "./ending-panel.tsx";
import { InstanceHeader } from "./instance-header.tsx";
import { InstanceTabs } from "./instance-tabs.tsx";
import { RepairsPanel } from "./repair/repairs-panel.tsx";
import { WaitingPanel } from "./waiting-panel.tsx";

const REFRESH_MS = 300;

export function InstancePage({ id }: { readonly id: string }): ReactElement {
  const instance = useLoaded(`instance ${id}`, (signal) => instances.describe(id, signal));
  const executions = useLoaded(`executions ${id}`, (signal) => inspect.executions(id, signal));
  const refreshInstance = instance.refresh;
  const refreshExecutions = executions.refresh;
  const refresh = useCallback(() => {
    refreshInstance();
    refreshExecutions();
  }, [refreshInstance, refreshExecutions]);
  const isOfInterest = ({ ids, all }: Change): boolean => all || ids.includes(id);
  useChanges(isOfInterest, refresh, REFRESH_MS);
  const { data, problem } = instance;

  if (problem?.code === "INSTANCE_NOT_FOUND") {
    return (
      <Empty icon="search" title={`There is no instance "${id}"`}>
        It may have been deleted. <a href={addressTo(["instances"])}>All instances</a>
      </Empty>
    );
  }
  return (
    <div className="stack">
      {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading rows={6} />
        ) : null
      ) : (
        <>
          <InstanceHeader instance={data} />
          <ActionBar instance={data} onDone={refresh} />
          {data.blocked === undefined ? null : <BlockPanel block={data.blocked} />}
          {data.error === undefined ? null : <EndingPanel ending={data.error} />}
          <WaitingPanel instance={data} onDone={refresh} />
          <RepairsPanel instance={data} />
          <InstanceTabs instance={data} executions={executions.data} onDone={refresh} />
        </>
      )}
    </div>
  );
}
