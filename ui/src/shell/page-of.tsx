// Maps an address to a page. All pages but the overview are loaded when they are first opened.

import { lazy, Suspense, type ReactElement } from "react";
import { Empty } from "../parts/empty.tsx";
import { Loading } from "../parts/loading.tsx";
import { OverviewPage } from "../overview/overview-page.tsx";
import { addressTo } from "../router/hash-location.ts";
import { ErrorBoundary } from "./error-boundary.tsx";

const InstancesPage = lazy(async () => ({
  default: (await import("../instances/instances-page.tsx")).InstancesPage,
}));
const InstancePage = lazy(async () => ({
  default: (await import("../instance/instance-page.tsx")).InstancePage,
}));
const QueuesPage = lazy(async () => ({
  default: (await import("../queues/queues-page.tsx")).QueuesPage,
}));
const QueuePage = lazy(async () => ({
  default: (await import("../queues/queue-page.tsx")).QueuePage,
}));
const SchedulesPage = lazy(async () => ({
  default: (await import("../built-ins/schedules-page.tsx")).SchedulesPage,
}));
const SchedulePage = lazy(async () => ({
  default: (await import("../built-ins/schedule-page.tsx")).SchedulePage,
}));
const EntitiesPage = lazy(async () => ({
  default: (await import("../built-ins/entities-page.tsx")).EntitiesPage,
}));
const EntityPage = lazy(async () => ({
  default: (await import("../built-ins/entities-page.tsx")).EntityPage,
}));
const RuntimesPage = lazy(async () => ({
  default: (await import("../runtimes/runtimes-page.tsx")).RuntimesPage,
}));

export function PageOf({ path }: { readonly path: readonly string[] }): ReactElement {
  return (
    <ErrorBoundary key={path.join("/")}>
      <Suspense fallback={<Loading />}>{pageOf(path)}</Suspense>
    </ErrorBoundary>
  );
}

function pageOf([first = "", second, ...more]: readonly string[]): ReactElement {
  if (more.length > 0) return <NoPage />;
  if (second !== undefined) return pageOfOne(first, second);
  switch (first) {
    case "":
      return <OverviewPage />;
    case "instances":
      return <InstancesPage />;
    case "queues":
      return <QueuesPage />;
    case "schedules":
      return <SchedulesPage />;
    case "entities":
      return <EntitiesPage />;
    case "runtimes":
      return <RuntimesPage />;
    default:
      return <NoPage />;
  }
}

function pageOfOne(first: string, name: string): ReactElement {
  switch (first) {
    case "instances":
      return <InstancePage key={name} id={name} />;
    case "queues":
      return <QueuePage key={name} name={name} />;
    case "schedules":
      return <SchedulePage key={name} name={name} />;
    case "entities":
      return <EntityPage key={name} name={name} />;
    default:
      return <NoPage />;
  }
}

function NoPage(): ReactElement {
  return (
    <Empty icon="search" title="Page not found">
      <a href={addressTo([])}>Go to the overview</a>
    </Empty>
  );
}
