import { failOnHeaderFaults } from "./oracle/answer-headers.ts";

failOnHeaderFaults();
