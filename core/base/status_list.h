/* status_list: one row an error, included by status.h and status.c. Its first word is its code. */
/* clang-format off */
STATUS(ERR_SYNTAX,            "ERR syntax error")
STATUS(ERR_WRONG_TYPE,        "WRONGTYPE Operation against a key holding the wrong kind of value")
STATUS(ERR_NOT_AN_INTEGER,    "ERR value is not an integer or out of range")
STATUS(ERR_NOT_A_FLOAT,       "ERR value is not a valid float")
STATUS(ERR_OUT_OF_RANGE,      "ERR value is out of range")
STATUS(ERR_OVERFLOW,          "ERR increment or decrement would overflow")
STATUS(ERR_NO_SUCH_KEY,       "ERR no such key")
STATUS(ERR_DB_INDEX,          "ERR DB index is out of range")
STATUS(ERR_WRONG_ARITY,       "ERR wrong number of arguments for '{command}' command")
STATUS(ERR_UNKNOWN_COMMAND,   "ERR unknown command '{arg}")       /* dispatch adds the beginning of the arguments */
STATUS(ERR_UNKNOWN_SUBCOMMAND,"ERR unknown subcommand '{arg}'. Try {command} HELP.")
STATUS(ERR_INVALID_EXPIRE,    "ERR invalid expire time in '{command}' command")
STATUS(ERR_NO_AUTH,           "NOAUTH Authentication required.")
STATUS(ERR_BUSY_KEY,          "BUSYKEY Target key name already exists.")
STATUS(ERR_OOM,               "OOM command not allowed when used memory > 'maxmemory'.")
STATUS(ERR_EXEC_ABORT,        "EXECABORT Transaction discarded because of previous errors.")
STATUS(ERR_NESTED_MULTI,      "ERR MULTI calls can not be nested")
STATUS(ERR_EXEC_WITHOUT_MULTI,"ERR EXEC without MULTI")
STATUS(ERR_DISCARD_WITHOUT_MULTI,"ERR DISCARD without MULTI")
STATUS(ERR_WATCH_IN_MULTI,     "ERR WATCH inside MULTI is not allowed")
STATUS(ERR_NOT_IN_MULTI,      "ERR Command not allowed inside a transaction")
STATUS(ERR_TEXT,              "{arg}")                            /* a text that is used in one place only */
/* clang-format on */
