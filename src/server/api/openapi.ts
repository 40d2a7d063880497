// Generates the OpenAPI 3.1 document from the route rows and their schemas.
//   - Paths, parameters, bodies, answers and roles all come from the rows.
//   - A schema that several routes use is a component; the document refers to it.

import { toJsonSchema, type ConversionConfig, type JsonSchema } from "@valibot/to-json-schema";
import { isList, type QuerySchema, type Schema } from "../http/parse.ts";
import { HTTP_CODES, STATUS_OF_CODE } from "../http/problems.ts";
import type { Answer, Route } from "../http/route.ts";
import { bulkAnswer } from "../schemas/bulk.ts";
import { cause, failure } from "../schemas/failure.ts";
import { bulkFilter } from "../schemas/filter.ts";
import { historyEvent, mark, span } from "../schemas/history.ts";
import { block, execution, instance, summary, tree, waiting } from "../schemas/instance.ts";
import { node } from "../schemas/node.ts";
import { problem } from "../schemas/problem.ts";
import { repair, rewindReport } from "../schemas/repair.ts";
import { queue } from "../schemas/queues.ts";
import { streamInfo } from "../schemas/streams.ts";
import { metrics, removed, runtime, sample } from "../schemas/store.ts";

/** The path of the API, below the mount path of the server. */
export const API_PATH = "/api/v1";

const COMPONENTS = {
  Instance: instance,
  InstanceSummary: summary,
  Waiting: waiting,
  Block: block,
  Failure: failure,
  Cause: cause,
  Filter: bulkFilter,
  HistoryEvent: historyEvent,
  Span: span,
  Mark: mark,
  Execution: execution,
  Node: node,
  Tree: tree,
  Repair: repair,
  RewindReport: rewindReport,
  Stream: streamInfo,
  Metrics: metrics,
  Queue: queue,
  Runtime: runtime,
  Sample: sample,
  Removed: removed,
  BulkAnswer: bulkAnswer,
  Problem: problem,
} satisfies Readonly<Record<string, Schema>>;

const CONVERSION: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "input",
  definitions: COMPONENTS,
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
};

/** Error statuses that every route can return. */
const COMMON_STATUSES = [400, 401, 403, 413, 415, 421, 422, 429, 500, 503, 504];

export function documentOf(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = `${API_PATH}${route.path.replace(/:(\w+)/g, "{$1}")}`;
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Perdure",
      version,
      description: "Start, inspect, control and remove instances of durable orchestrations.",
    },
    servers: [{ url: "." }],
    security: [{ token: [] }, { session: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "cookie", name: "perdure_{port}" },
      },
    },
  };
}

function operationOf(route: Route): object {
  const { operation, summary: text, tag, role, body } = route;
  const parameters = [...pathParameters(route), ...queryParameters(route.query)];
  if (route.changes) parameters.push(IDEMPOTENCY_KEY);
  if (resumes(route)) parameters.push(LAST_EVENT_ID);
  return {
    operationId: operation,
    summary: text,
    tags: [tag],
    "x-perdure-role": role,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null
      ? {}
      : { requestBody: { content: { "application/json": { schema: schemaOf(body) } } } }),
    responses: responsesOf(route),
  };
}

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A key chosen by the caller. A repeated request with the same key gets the first answer.",
  schema: { type: "string", minLength: 1, maxLength: 256 },
};

const LAST_EVENT_ID = {
  name: "Last-Event-ID",
  in: "header",
  description:
    "The `id` of the last event that the client received. The stream continues after it.",
  schema: { type: "string" },
};

function resumes({ answer }: Route): boolean {
  return answer.kind === "events" && answer.resumes;
}

function pathParameters({ path }: Route): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: name === "sequence" ? "integer" : "string" },
  }));
}

function queryParameters(query: QuerySchema | null): object[] {
  if (query === null) return [];
  const { properties = {}, required = [] } = schemaOf(query);
  return Object.entries(properties).map(([name, schema]) => {
    const entry = query.entries[name];
    const style = name === "attributes" ? { style: "deepObject", explode: true } : {};
    const list = entry !== undefined && isList(entry) ? { style: "form", explode: true } : {};
    return { name, in: "query", required: required.includes(name), schema, ...style, ...list };
  });
}

function responsesOf(route: Route): object {
  const { answer, errors } = route;
  const own = errors.map((code) =>
    code in HTTP_CODES
      ? HTTP_CODES[code as keyof typeof HTTP_CODES][0]
      : STATUS_OF_CODE[code as keyof typeof STATUS_OF_CODE],
  );
  const statuses = [...new Set([...COMMON_STATUSES, ...own])].sort((a, b) => a - b);
  return {
    [answer.status]: { description: DESCRIPTIONS[answer.kind], ...contentOf(answer) },
    ...(resumes(route)
      ? { 204: { description: "The client has received the whole stream." } }
      : {}),
    ...Object.fromEntries(statuses.map((status) => [status, PROBLEM_RESPONSE])),
  };
}

const DESCRIPTIONS: Readonly<Record<Answer["kind"], string>> = {
  json: "The answer.",
  empty: "Success, without content.",
  events: "Server-sent events; the schema describes the data of an event.",
  text: "The text.",
};

const PROBLEM_RESPONSE = {
  description: "A problem.",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};

function contentOf(answer: Answer): object {
  switch (answer.kind) {
    case "json":
      return { content: { "application/json": { schema: schemaOf(answer.schema) } } };
    case "events":
      return { content: { "text/event-stream": { schema: schemaOf(answer.schema) } } };
    case "text":
      return { content: { "text/plain": { schema: { type: "string" } } } };
    case "empty":
      return {};
  }
}

/** The JSON schema without its definitions; the definitions are in the components. */
function schemaOf(schema: Schema): JsonSchema {
  const { $schema: _schema, $defs: _defs, ...own } = toJsonSchema(schema, CONVERSION);
  return own;
}

function componentSchemas(): object {
  return toJsonSchema(problem, CONVERSION).$defs ?? {};
}
