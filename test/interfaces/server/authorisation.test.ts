// Authorisation without a socket: the rules of tokens, sessions, authenticate functions, hosts and origins, each at its
// edge cases. access.test.ts and browser.test.ts test that the server applies them.

import { hash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Access, type Authenticate } from "../../../src/server/security/access.ts";
import { checkHost, checkOrigin, originRules } from "../../../src/server/security/origin-check.ts";
import { factsOf } from "../../../src/server/security/request-facts.ts";
import { isRole, mayActAs, ROLES } from "../../../src/server/security/roles.ts";
import {
  sessionCookie,
  Sessions,
  SESSIONS_MAX,
  SESSIONS_PER_TOKEN_MAX,
} from "../../../src/server/security/sessions.ts";
import { tokensFromFile } from "../../../src/server/security/token-file.ts";
import {
  createToken,
  TokenBook,
  type TokenEntry,
  type TokenSource,
} from "../../../src/server/security/tokens.ts";

const HOURS_12 = 12 * 3_600_000;
const PORT = "8080";
const SCOPE = { port: PORT, path: "/", secure: false };
const ada = createToken({ name: "ada", role: "admin" });
const vera = createToken({ name: "vera", role: "viewer" });
const otto = { name: "otto", role: "operator" } as const;

function access(authenticate: Authenticate | null, tokens: readonly TokenEntry[] | null): Access {
  const book = tokens === null ? null : new TokenBook(tokens, () => 0);
  return new Access({ book, authenticate, now: () => 0 });
}

function withHeaders(headers: Record<string, string>): Request {
  return new Request("http://localhost:8080/api/v1/session?a=1", { headers });
}

const whoIs = (
  from: Access,
  headers: Record<string, string>,
): Promise<{ readonly name: string; readonly tokenHash: Buffer | null } | string> =>
  from.callerOf(withHeaders(headers), PORT).catch(({ code }: { code: string }) => code);

function openCookie(from: Access, token: string): string {
  return from.sessions.open(hash("sha256", token, "buffer"), SCOPE).split(";")[0] ?? "";
}

test("AC1: a token comes first, then a session, then the application's authenticate function", async () => {
  const asked: Request[] = [];
  const authenticate: Authenticate = (request) => {
    asked.push(request);
    return otto;
  };
  const both = access(authenticate, [ada.entry, vera.entry]);
  const cookie = openCookie(both, vera.token);
  const tokenHash = hash("sha256", ada.token, "buffer");
  const bearer = `Bearer ${ada.token}`;
  const byToken = { name: "ada", role: "admin", tokenHash };
  const bySession = { name: "vera", role: "viewer", tokenHash: null };
  const byApplication = { ...otto, tokenHash: null };
  expect(await whoIs(both, { authorization: bearer, cookie })).toEqual(byToken);
  expect(await whoIs(both, { cookie })).toEqual(bySession);
  expect(asked).toEqual([]);
  expect(await whoIs(both, {})).toEqual(byApplication);
  expect(await whoIs(both, { cookie: `perdure_${PORT}=unknown` })).toEqual(byApplication);
  expect(asked).toHaveLength(2);
  // The application's credentials may look like anything; a session does not replace them.
  expect(await whoIs(both, { authorization: "Bearer its-own", cookie })).toEqual(byApplication);
  expect(await whoIs(both, { authorization: "Basic its-own", cookie })).toEqual(byApplication);
});

test("AC1: a valid cookie does not make up for a wrong token", async () => {
  const tokensAlone = access(null, [ada.entry]);
  const cookie = openCookie(tokensAlone, ada.token);
  expect(await whoIs(tokensAlone, { cookie })).toMatchObject({ name: "ada" });
  for (const authorization of [`Bearer ${vera.token}`, "Basic x", "Bearer"]) {
    expect(await whoIs(tokensAlone, { authorization, cookie })).toBe("UNAUTHENTICATED");
  }
});

test("AC2: a token follows the word Bearer, in any case, and nothing else does", async () => {
  const book = access(null, [ada.entry]);
  const right = ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer {}  "];
  const wrong = [
    "Bearer{}",
    "Bearer\t{}",
    "x Bearer {}",
    "Bearer {} x",
    "Bearer x{}",
    "{}",
    "Token {}",
  ];
  const ask = (form: string) => whoIs(book, { authorization: form.replace("{}", ada.token) });
  for (const form of right) expect([form, await ask(form)]).toMatchObject([form, { name: "ada" }]);
  for (const form of wrong) expect([form, await ask(form)]).toEqual([form, "UNAUTHENTICATED"]);
  // The hash of a token is not a token.
  expect(await whoIs(book, { authorization: `Bearer ${ada.entry.sha256}` })).toBe(
    "UNAUTHENTICATED",
  );
});

test("AC3: an unauthenticated caller gets an error that names the ways to authenticate", async () => {
  for (const none of [access(null, []), access(null, null), access(() => null, null)]) {
    const refused = none.callerOf(withHeaders({ authorization: `Bearer ${ada.token}` }), PORT);
    await expect(refused).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
      message: "The request has no valid credentials.",
      headers: { "WWW-Authenticate": "Bearer" },
    });
  }
});

test("AC3: an authenticate function that throws or returns nonsense is reported as unavailable, with its reason", async () => {
  const down = new Error("down");
  const answering = (answer: unknown) => access(async () => answer as never, null);
  const ask = (from: Access) => from.callerOf(withHeaders({}), PORT);
  const throwing = access(() => Promise.reject(down), null);
  await expect(ask(throwing)).rejects.toMatchObject({ code: "ACCESS_UNAVAILABLE", cause: down });
  const nonsense = [undefined, {}, "ada", { name: "a" }, { role: "admin" }];
  for (const answer of [...nonsense, { name: 1, role: "admin" }, { name: "a", role: "root" }]) {
    await expect(ask(answering(answer))).rejects.toMatchObject({
      code: "ACCESS_UNAVAILABLE",
      cause: expect.any(TypeError),
    });
  }
  await expect(ask(answering(otto))).resolves.toEqual({ ...otto, tokenHash: null });
});

test("the authenticate function sees address and headers, and extra members of its answer are dropped", async () => {
  const seen: unknown[] = [];
  const authenticated = access((request) => {
    seen.push(request.url, request.headers.get("x-user"), request.body, request.method);
    return { ...otto, password: "hunter2" };
  }, null);
  const request = new Request("http://localhost/x?y=1", {
    method: "POST",
    headers: { "X-User": "otto" },
    body: "{}",
  });
  const caller = await authenticated.callerOf(request, PORT);
  expect(seen).toEqual(["http://localhost/x?y=1", "otto", null, "GET"]);
  expect(caller).toEqual({ ...otto, tokenHash: null });
  expect(request.bodyUsed).toBe(false);
});

test("TK5: the token source is called at most once per second, and a failed call counts", async () => {
  let now = 500;
  let asked = 0;
  let source: TokenSource = () => [ada.entry];
  const book = new TokenBook(
    () => {
      asked += 1;
      return source();
    },
    () => now,
  );
  await Promise.all([book.find(ada.token), book.find(vera.token), book.find(ada.token)]);
  expect(asked).toBe(1);
  source = () => [vera.entry];
  now += 999;
  expect(await book.find(ada.token)).toMatchObject({ name: "ada" });
  expect(asked).toBe(1);
  now += 1;
  expect(await book.find(ada.token)).toBeNull();
  expect(await book.find(vera.token)).toMatchObject({ name: "vera", role: "viewer" });
  expect(asked).toBe(2);

  const gone = new Error("gone");
  source = () => Promise.reject(gone);
  now += 1_000;
  const refused = { code: "ACCESS_UNAVAILABLE", cause: gone };
  await expect(book.find(vera.token)).rejects.toMatchObject(refused);
  await expect(book.find(vera.token)).rejects.toMatchObject(refused);
  expect(asked).toBe(3);
  source = () => [{ name: "a", role: "admin", token: "short" }];
  now += 1_000;
  await expect(book.find(vera.token)).rejects.toMatchObject({
    code: "ACCESS_UNAVAILABLE",
    cause: expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  });
});

test("S6: which token entries are valid, to the character", () => {
  const sha256 = ada.entry.sha256;
  const book = (entry: unknown) => () => new TokenBook([entry as TokenEntry], () => 0);
  const right = [
    { name: "a", role: "viewer", sha256 },
    { name: "n".repeat(256), role: "operator", sha256: sha256.toUpperCase() },
    { name: "a", role: "admin", token: "x".repeat(43) },
  ];
  const wrong = [
    { name: "n".repeat(257), role: "viewer", sha256 },
    { name: 1, role: "viewer", sha256 },
    { name: ["a"], role: "viewer", sha256 },
    { role: "viewer", sha256 },
    { name: "a", sha256 },
    { name: "a", role: "viewer", sha256: `${sha256}0` },
    { name: "a", role: "viewer", sha256: `0${sha256}` },
    { name: "a", role: "viewer", sha256: `g${sha256.slice(1)}` },
    { name: "a", role: "viewer", sha256: [sha256] },
    { name: "a", role: "viewer", token: "x".repeat(42) },
    { name: "a", role: "viewer", token: Array.from({ length: 43 }, () => "x") },
    { name: "a", role: "viewer", token: "x".repeat(43), sha256 },
  ];
  for (const entry of right) expect(book(entry)).not.toThrow();
  const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });
  for (const entry of wrong) expect(book(entry), JSON.stringify(entry)).toThrow(refused);
});

test("S6: a token given in clear text, or by an uppercase hash, is found", async () => {
  const book = new TokenBook(
    [
      { name: "clear", role: "operator", token: vera.token },
      { name: "capitals", role: "admin", sha256: ada.entry.sha256.toUpperCase() },
    ],
    () => 0,
  );
  expect(await book.find(vera.token)).toEqual({
    name: "clear",
    role: "operator",
    hash: hash("sha256", vera.token, "buffer"),
  });
  expect(await book.find(ada.token)).toMatchObject({ name: "capitals", role: "admin" });
  expect(await book.find(`${ada.token} `)).toBeNull();
});

test("createToken requires a name and a known role", () => {
  expect(ada.token).toMatch(/^pdr_[\w-]{43}$/);
  const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });
  expect(() => createToken({ name: "", role: "admin" })).toThrow(refused);
  expect(() => createToken({ name: "a", role: "root" as never })).toThrow(refused);
});

test("RO1: a role includes the roles below it and no other", () => {
  const allowed = ROLES.map((role) =>
    ROLES.filter((needed) => mayActAs({ name: "a", role }, needed)),
  );
  expect(allowed).toEqual([["viewer"], ["viewer", "operator"], ["viewer", "operator", "admin"]]);
  expect(ROLES.every(isRole)).toBe(true);
  for (const value of ["", "root", "Admin", undefined, null, 0, ["admin"]]) {
    expect(isRole(value)).toBe(false);
  }
});

test("SN1: a session cookie is named after its port, and has all attributes that browsers need", () => {
  const sessions = new Sessions(() => 0);
  const tokenHash = Buffer.alloc(32);
  const scope = { port: "443", path: "/perdure", secure: true };
  const rest = "HttpOnly; SameSite=Strict; Secure";
  const line = sessions.open(tokenHash, scope);
  expect(line).toMatch(/^perdure_443=[\w-]{43}; /);
  expect(line.slice(line.indexOf(";"))).toBe(`; Path=/perdure; Max-Age=43200; ${rest}`);
  expect(sessions.close(undefined, scope)).toBe(`perdure_443=; Path=/perdure; Max-Age=0; ${rest}`);
  expect(sessions.open(tokenHash, SCOPE)).toMatch(/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  expect(sessions.open(tokenHash, SCOPE)).not.toBe(sessions.open(tokenHash, SCOPE));
});

test("SN1: the session cookie is found among others, and only under its own port", () => {
  expect(sessionCookie("perdure_8080=a", PORT)).toBe("a");
  expect(sessionCookie("x=1;  perdure_8080=a=b ; y=2", PORT)).toBe("a=b");
  expect(sessionCookie("perdure_8080=", PORT)).toBe("");
  for (const header of [
    "perdure_808=a",
    "perdure_80801=a",
    "xperdure_8080=a",
    "perdure_8080",
    "",
  ]) {
    expect(sessionCookie(header, PORT)).toBeUndefined();
  }
  expect(sessionCookie(null, PORT)).toBeUndefined();
});

test("SN3: a session ends after twelve hours, or when it is closed", () => {
  let now = 1_000;
  const sessions = new Sessions(() => now);
  const tokenHash = Buffer.from("token");
  const open = () => sessionCookie(sessions.open(tokenHash, SCOPE).split(";")[0] ?? "", PORT) ?? "";
  const [first, second] = [open(), open()];
  now += HOURS_12 - 1;
  expect(sessions.tokenOf(first)).toEqual(tokenHash);
  sessions.close(second, SCOPE);
  expect(sessions.tokenOf(second)).toBeNull();
  expect(sessions.tokenOf(first)).toEqual(tokenHash);
  now += 1;
  expect(sessions.tokenOf(first)).toBeNull();
  now -= 1; // a session that has ended stays ended when the clock goes back
  expect(sessions.tokenOf(first)).toBeNull();
  expect(sessions.tokenOf("")).toBeNull();
});

test("SN3: logins of one token do not end the sessions of another", () => {
  const sessions = new Sessions(() => 0);
  const open = (token: string) =>
    sessionCookie(sessions.open(Buffer.from(token), SCOPE).split(";")[0] ?? "", PORT) ?? "";
  const victim = open("ada");
  const many = Array.from({ length: 2 * SESSIONS_MAX }, () => open("eve"));
  const living = () => many.filter((cookie) => sessions.tokenOf(cookie) !== null).length;
  expect([sessions.tokenOf(victim) === null, living()]).toEqual([false, SESSIONS_PER_TOKEN_MAX]);
  // The server is full: the token with the most sessions loses its oldest one.
  for (let login = 0; login < SESSIONS_MAX - 10; login++) open(`token-${login}`);
  expect([sessions.tokenOf(victim) === null, living()]).toEqual([false, 9]);
});

test("LC1: a login code opens one session within a minute, and nothing else", async () => {
  let now = 0;
  const book = new TokenBook([ada.entry], () => 0);
  const from = new Access({ book, authenticate: null, now: () => now });
  const whoOpens = (code: string, method = "POST", path = "/api/v1/session"): Promise<string> => {
    const headers = { Authorization: `Bearer ${code}` };
    const request = new Request(`http://localhost:8080${path}`, { method, headers });
    return from.callerOf(request, PORT).then(
      ({ name }) => name,
      ({ code: problem }: { code: string }) => problem,
    );
  };
  const code = from.codes.issue(ada.token);
  expect(await whoOpens(code, "GET")).toBe("UNAUTHENTICATED");
  expect(await whoOpens(code, "POST", "/api/v1/instances")).toBe("UNAUTHENTICATED");
  expect(await whoOpens(code)).toBe("ada");
  expect(await whoOpens(code)).toBe("UNAUTHENTICATED");
  const late = from.codes.issue(ada.token);
  now += 60_000;
  expect(await whoOpens(late)).toBe("UNAUTHENTICATED");
  expect(await whoOpens(from.codes.issue(vera.token))).toBe("UNAUTHENTICATED");
  expect(await whoOpens(`pdc_${"x".repeat(43)}`)).toBe("UNAUTHENTICATED");
});

test("SN3: one session too many for a token ends only its oldest session", () => {
  const sessions = new Sessions(() => 0);
  const tokenHash = Buffer.from("token");
  const open = () => sessionCookie(sessions.open(tokenHash, SCOPE).split(";")[0] ?? "", PORT) ?? "";
  const cookies = Array.from({ length: SESSIONS_PER_TOKEN_MAX }, open);
  const living = () => cookies.map((cookie) => sessions.tokenOf(cookie) !== null);
  expect(living()).toEqual(cookies.map(() => true));
  cookies.push(open(), open());
  expect(living()).toEqual(cookies.map((_, index) => index >= 2));
});

const RULES = originRules(
  ["OPS.example.com", "other.example:8443"],
  ["https://dash.example.com/path", "vscode-webview"],
);

function asking(url: string, headers: Record<string, string> = {}, method = "GET"): Request {
  return new Request(url, { headers, method });
}

test("OR1: a host is accepted if it is an address, this machine, or listed", () => {
  const ask = (host: string) => () => {
    const request = asking(`http://${host}/`);
    checkHost(factsOf(request, undefined, false), RULES);
  };
  const right = ["localhost", "a.localhost:1", "192.0.2.1", "[::1]:80", "[2001:db8::1]"];
  for (const host of [...right, "ops.example.com", "ops.example.com:99", "other.example:8443"]) {
    expect(ask(host), host).not.toThrow();
  }
  const wrong = ["evil.example", "xlocalhost", "localhost.evil.example", "a.ops.example.com"];
  for (const host of [...wrong, "other.example", "other.example:8444", "127.0.0.1.evil.example"]) {
    expect(ask(host), host).toThrow(expect.objectContaining({ code: "HOST_REFUSED" }));
  }
});

test.each(["", "a b", "user@host", "a/b"])("OR1: %j cannot be listed as a host", (host) => {
  expect(() => originRules([host], [])).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
});

test("OR2, origin-check.1: an origin must be the server's own or listed; a change by cookie must name one", () => {
  const ask = (method: string, headers: Record<string, string>) => {
    const request = asking("http://localhost:8080/api/v1/x", headers, method);
    try {
      checkOrigin(request, factsOf(request, undefined, false), RULES);
      return "answered";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const cookie = "perdure_8080=x";
  for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE"]) {
    const isChange = method !== "GET" && method !== "HEAD";
    const table: [Record<string, string>, string][] = [
      [{}, "answered"],
      [{ cookie }, isChange ? "ORIGIN_REFUSED" : "answered"],
      [{ cookie, origin: "http://localhost:8080" }, "answered"],
      [{ origin: "https://localhost:8080" }, "answered"],
      [{ origin: "https://dash.example.com" }, "answered"],
      [{ origin: "vscode-webview" }, "answered"],
      [{ origin: "http://localhost:8081" }, "ORIGIN_REFUSED"],
      [{ origin: "http://localhost" }, "ORIGIN_REFUSED"],
      [{ origin: "https://dash.example.com.evil.example" }, "ORIGIN_REFUSED"],
      [{ origin: "http://dash.example.com" }, "ORIGIN_REFUSED"],
      [{ origin: "null" }, "ORIGIN_REFUSED"],
      [{ origin: "http://evil.example", "sec-fetch-site": "same-origin" }, "ORIGIN_REFUSED"],
      [{ cookie, "sec-fetch-site": "same-origin" }, "answered"],
      [{ cookie, "sec-fetch-site": "none" }, "answered"],
      [{ "sec-fetch-site": "same-site" }, "ORIGIN_REFUSED"],
      [{ "sec-fetch-site": "cross-site" }, "ORIGIN_REFUSED"],
    ];
    for (const [headers, expected] of table) {
      expect([method, headers, ask(method, headers)]).toEqual([method, headers, expected]);
    }
  }
});

test("TF1: the error of an invalid token file names the place, and not the contents", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-tokens-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "tokens.json");
  const read = async (content: unknown): Promise<unknown> => {
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    try {
      return await tokensFromFile(file)();
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      expect(code).toBe("INVALID_ARGUMENT");
      return message;
    }
  };
  const { name, role, sha256 } = ada.entry;
  const one = (entry: object) => read({ tokens: [vera.entry, entry] });
  expect(await read({ tokens: [vera.entry, ada.entry] })).toEqual([vera.entry, ada.entry]);
  expect(await one({ name, role, sha256: sha256.toUpperCase() })).toHaveLength(2);
  expect(await read({ tokens: [] })).toEqual([]);
  expect(await one({ name, role, sha256: `${sha256}0` })).toContain(" tokens.1.sha256.");
  expect(await one({ name, role, sha256: `0${sha256}` })).toContain(" tokens.1.sha256.");
  expect(await one({ name, role, sha256: sha256.slice(1) })).toContain(" tokens.1.sha256.");
  expect(await one({ name, role, sha256: ada.token })).not.toContain(ada.token);
  expect(await one({ name, role: "root", sha256 })).toContain(" tokens.1.role.");
  expect(await one({ name: 1, role, sha256 })).toContain(" tokens.1.name.");
  expect(await one({ name, role, sha256, token: ada.token })).toContain(" tokens.1.token.");
  expect(await read({ tokens: [], more: 1 })).toContain(" more.");
  expect(await read([])).toContain(" tokens.");
  expect(await read("7")).toContain(" its root.");
  expect(await read("{")).toBe("The token file must be JSON.");
  await expect(tokensFromFile(join(folder, "none"))()).rejects.toMatchObject({
    code: "ENOENT",
  });
});
