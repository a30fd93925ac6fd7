/*
 * start: puts the process together and takes it apart again: the only place that knows everything.
 */
#pragma once

struct config;

/* Serves until told to stop. Returns the exit status. `config` is the server's from now on. Thread:
 * main. */
int start_and_serve(struct config *config);
