// Routes about the whole store: overview, metrics, kept events, runtimes.

import * as v from "valibot";
import type { Services } from "../services.ts";
import { jsonRoute, textRoute } from "../http/route.ts";
import { prometheusText } from "../views/prometheus.ts";
import { queryWhole } from "../schemas/common.ts";
import { keptPage, metrics, overview, runtime } from "../schemas/store.ts";
import { queueToHttp } from "../wire/queues.ts";
import { keptToHttp, metricsToHttp, runtimeToHttp } from "../wire/store.ts";

const row = { method: "GET", tag: "store", role: "viewer" } as const;
const QUEUES_SHOWN_MAX = 200;
const KEPT_MAX = 1_000;

export const prometheusRoute = textRoute({
  ...row,
  path: "/prometheus",
  operation: "readPrometheus",
  summary: "The metrics in the Prometheus text format; also served as `/metrics`.",
  run: ({ services }) => prometheusText(services),
});

export const storeRoutes = [
  jsonRoute({
    ...row,
    path: "/overview",
    operation: "readOverview",
    summary:
      "Metrics, queues, runtimes, blocked and failed instances by cause, unclaimed work and recent samples.",
    answer: overview,
    run: ({ services }) => overviewOf(services),
  }),
  jsonRoute({
    ...row,
    path: "/metrics",
    operation: "readMetrics",
    summary: "The metrics of the store.",
    answer: metrics,
    run: async ({ services: { sampler } }) => metricsToHttp(await sampler.metrics()),
  }),
  jsonRoute({
    ...row,
    path: "/kept",
    operation: "listKept",
    summary:
      "Events that wait for instances that do not exist yet, and expired ones, oldest first, page by page.",
    query: v.strictObject({
      id: v.exactOptional(v.string()),
      cursor: v.exactOptional(v.pipe(v.string(), v.maxLength(500))),
      limit: v.exactOptional(queryWhole({ min: 1, max: KEPT_MAX })),
    }),
    answer: keptPage,
    run: async ({ services: { client }, query }) => keptToHttp(await client.kept(query)),
  }),
  jsonRoute({
    ...row,
    path: "/runtimes",
    operation: "listRuntimes",
    summary: "The runtimes, what they register and how much work they hold.",
    answer: v.object({ items: v.array(runtime) }),
    run: async ({ services: { client, provider } }) => {
      const now = provider.now();
      return { items: (await client.runtimes()).map((one) => runtimeToHttp(one, now)) };
    },
  }),
  prometheusRoute,
];

async function overviewOf(services: Services): Promise<v.InferInput<typeof overview>> {
  const { client, provider, sampler, settings, troubles } = services;
  const now = provider.now();
  const queues = await client.queues();
  const fullest = queues.toSorted((a, b) => b.depth + b.running - (a.depth + a.running));
  return {
    at: new Date(now).toISOString(),
    store: { name: provider.name, durability: provider.durability },
    readOnly: settings.readOnly,
    metrics: metricsToHttp(await sampler.metrics()),
    queues: fullest.slice(0, QUEUES_SHOWN_MAX).map(queueToHttp),
    queueCount: queues.length,
    runtimes: (await client.runtimes()).map((one) => runtimeToHttp(one, now)),
    troubles: await troubles.read(),
    sampleMs: settings.limits.sampleMs,
    samples: [...sampler.samples],
  };
}
