import { failOnHeaderFaults } from "./answer-headers.ts";

failOnHeaderFaults();
