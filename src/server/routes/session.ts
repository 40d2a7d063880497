// Routes of the session: the caller's name and role, and the exchange of a token for a cookie.

import * as v from "valibot";
import { Refusal } from "../http/problems.ts";
import { isLoopback, type RequestFacts } from "../security/request-facts.ts";
import { ROLES } from "../security/roles.ts";
import { emptyRoute, jsonRoute } from "../http/route.ts";
import { sessionCookie, type CookieScope } from "../security/sessions.ts";

const row = { path: "/session", tag: "session", role: "viewer", changes: false } as const;

export const sessionRoutes = [
  jsonRoute({
    ...row,
    method: "GET",
    operation: "readSession",
    summary: "The name and the role of the caller.",
    answer: v.object({ name: v.string(), role: v.picklist(ROLES), readOnly: v.boolean() }),
    run: async ({ caller: { name, role }, services: { settings } }) => ({
      name,
      role,
      readOnly: settings.readOnly,
    }),
  }),
  emptyRoute({
    ...row,
    method: "POST",
    operation: "openSession",
    summary: "Exchanges the token in the Authorization header for a cookie.",
    run: async ({ caller, services: { access }, facts, base }) => {
      if (caller.tokenHash === null) {
        throw new Refusal(
          "FORBIDDEN",
          "A session needs a token; send one in the Authorization header.",
        );
      }
      return {
        headers: { "Set-Cookie": access.sessions.open(caller.tokenHash, scope(facts, base)) },
      };
    },
  }),
  emptyRoute({
    ...row,
    method: "DELETE",
    operation: "closeSession",
    summary: "Ends the session and removes the cookie.",
    run: async ({ services: { access }, request, facts, base }) => {
      const cookie = sessionCookie(request.headers.get("cookie"), facts.port);
      return { headers: { "Set-Cookie": access.sessions.close(cookie, scope(facts, base)) } };
    },
  }),
];

function scope({ port, https, hostname }: RequestFacts, base: string): CookieScope {
  return { port, path: base === "" ? "/" : base, secure: https || !isLoopback(hostname) };
}
