// The HTTP API and the dashboard.

import { perdure } from "../../../../perdure.ts";

export const { GET, POST, PUT, PATCH, DELETE } = perdure.handlers;
