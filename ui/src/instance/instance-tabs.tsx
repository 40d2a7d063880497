// The tabs of an instance. The address contains the selected tab.

import { lazy, Suspense, type ReactElement } from "react";
import type { Execution, Instance } from "../api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { TabPanel, Tabs } from "../parts/tabs.tsx";
import { setQuery, useHashLocation } from "../router/hash-location.ts";
import { ExecutionPicker } from "./execution-picker.tsx";
import { FamilyTab } from "./family-tab.tsx";
import { HistoryTab } from "./history/history-tab.tsx";
import { PayloadTab } from "./payload-tab.tsx";
import { StateTab } from "./state-tab.tsx";
import { TimelineTab } from "./timeline/timeline-tab.tsx";

const FlowTab = lazy(async () => ({ default: (await import("./flow/flow-tab.tsx")).FlowTab }));
const StreamsTab = lazy(async () => ({
  default: (await import("./streams/streams-tab.tsx")).StreamsTab,
}));
const LogsTab = lazy(async () => ({ default: (await import("./streams/logs-tab.tsx")).LogsTab }));

const TITLES = {
  timeline: "Timeline",
  flow: "Flow",
  history: "History",
  payload: "Input and output",
  state: "State",
  streams: "Streams",
  logs: "Logs",
  family: "Parent and children",
} as const;
/** What the user chose in a tab. Another tab begins without it. */
const NO_CHOICES = {
  event: null,
  q: null,
  open: null,
  kind: null,
  stream: null,
  settled: null,
  from: null,
  level: null,
} as const;
type TabId = keyof typeof TITLES;

export function InstanceTabs({
  instance,
  executions,
  onDone,
}: {
  readonly instance: Instance;
  readonly executions: readonly Execution[] | undefined;
  /** Called after the instance was repaired. */
  readonly onDone: () => void;
}): ReactElement {
  const location = useHashLocation();
  const isFlow = isFlowVersion(instance.version);
  const ids = (Object.keys(TITLES) as TabId[]).filter((id) => id !== "flow" || isFlow);
  const selected = ids.find((id) => id === location.query.get("tab")) ?? "timeline";
  const number = Number(location.query.get("execution") ?? instance.execution);
  const execution = executions?.find((each) => each.execution === number);
  const events = execution?.events;
  return (
    <section className="stack" aria-label="Details">
      <div className="tab-line">
        <Tabs
          label="Details"
          selected={selected}
          onSelect={(tab) => setQuery({ ...NO_CHOICES, tab: tab === "timeline" ? null : tab })}
          tabs={ids.map((id) => ({
            id,
            title:
              id === "history" && events !== undefined ? (
                <>
                  {TITLES[id]} <span className="faint">{formatCount(events)}</span>
                </>
              ) : (
                TITLES[id]
              ),
          }))}
        />
        <ExecutionPicker executions={executions} selected={number} />
      </div>
      <TabPanel id={selected}>
        <Suspense fallback={<Loading />}>
          {selected === "timeline" ? (
            <TimelineTab
              key={number}
              instance={instance}
              execution={number}
              onDone={() => {
                setQuery({ execution: null, span: null });
                onDone();
              }}
            />
          ) : selected === "flow" ? (
            <FlowTab key={number} instance={instance} execution={number} />
          ) : selected === "history" ? (
            <HistoryTab key={number} id={instance.id} execution={number} events={events} />
          ) : selected === "payload" ? (
            <PayloadTab instance={instance} execution={number} />
          ) : selected === "state" ? (
            <StateTab instance={instance} />
          ) : selected === "streams" ? (
            <StreamsTab instance={instance} />
          ) : selected === "logs" ? (
            <LogsTab instance={instance} />
          ) : (
            <FamilyTab instance={instance} executions={executions} />
          )}
        </Suspense>
      </TabPanel>
    </section>
  );
}

/** The version of a flow ends with the hash of its structure. */
function isFlowVersion(version: string | undefined): boolean {
  return /\+[0-9a-f]{64}$/.test(version ?? "");
}
