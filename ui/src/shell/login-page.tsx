// The login: exchanges a token for an HttpOnly cookie.

import { useState, type ReactElement } from "react";
import { asProblem, type ApiProblem } from "../api/problem.ts";
import { Icon } from "../parts/icon.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Logo } from "./logo.tsx";

export function LoginPage({
  onToken,
}: {
  readonly onToken: (token: string) => Promise<void>;
}): ReactElement {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await onToken(token.trim());
    } catch (error) {
      setProblem(asProblem(error));
      setIsBusy(false);
    }
  };
  return (
    <main className="login">
      <form
        className="panel login-panel"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div className="brand">
          <Logo />
          Perdure
        </div>
        <h1>Log in</h1>
        <label className="field">
          <span>Token</span>
          <input
            className="input mono"
            type="password"
            autoComplete="current-password"
            autoFocus
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <p className="hint">
          The server printed a token when it started. If you did not start it, ask its administrator
          for one.
        </p>
        {problem === null ? null : problem.status === 401 ? (
          <p className="note" data-tone="danger" role="alert">
            <Icon name="warning" />
            That token is not valid.
          </p>
        ) : (
          <ProblemNote problem={problem} />
        )}
        <button type="submit" className="button" data-kind="primary" disabled={isBusy}>
          Log in
        </button>
      </form>
    </main>
  );
}
