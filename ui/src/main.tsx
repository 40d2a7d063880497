// The entry point of the dashboard.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { applyTheme } from "./shell/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/parts.css";
import "./styles/values.css";
import "./styles/pages.css";
import "./styles/list.css";
import "./styles/timeline.css";
import "./styles/flow.css";
import "./styles/streams.css";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error('The page has no element with the id "root".');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
