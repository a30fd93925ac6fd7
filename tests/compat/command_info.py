"""COMMAND INFO and COMMAND DOCS of every command that both servers have."""

NOT_COMPARED = {"notes"}  # of key specifications: remarks in somebody's own words
LATER = "7.1"  # changes of a command from here on are unknown to the reference


def plain(reply):
    """Arrays to lists, texts to str."""
    if isinstance(reply.value, list):
        return [plain(element) for element in reply.elements()]
    return reply.value.decode("latin-1") if isinstance(reply.value, bytes) else reply.value


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def ask(server, *words):
    connection = server.connect(timeout=30)
    try:
        return plain(connection.command(*words))
    finally:
        connection.close()


# ---- COMMAND INFO


def key_spec(flat):
    spec = pairs(flat)
    for part in ("begin_search", "find_keys"):
        inner = pairs(spec[part])
        spec[part] = (inner["type"], sorted(pairs(inner["spec"]).items()))
    spec["flags"] = sorted(spec["flags"])
    return {key: spec[key] for key in spec if key not in NOT_COMPARED}


def info(row):
    """A row of COMMAND INFO by names, order taken out where it means nothing."""
    name, arity, flags, first, last, step, acl, tips, specs, subcommands = row
    fields = {
        "arity": arity,
        "flags": sorted(flags),
        "keys": (first, last, step),
        "categories": sorted(acl),
        "tips": sorted(tips),
    }
    for number, spec in enumerate(specs):
        fields["key specification %d" % number] = key_spec(spec)
    fields["key specifications"] = len(specs)
    return name, fields, dict(info_tree(subcommands))


def info_tree(rows):
    for row in rows:
        name, fields, subcommands = info(row)
        yield name, (fields, subcommands)


# ---- COMMAND DOCS


def argument(flat):
    fields = pairs(flat)
    tree = {key: fields[key] for key in ("name", "type", "token", "key_spec_index") if key in fields}
    tree["flags"] = sorted(fields.get("flags", []))
    tree["arguments"] = [argument(inner) for inner in fields.get("arguments", [])]
    return tree


def argument_text(tree):
    """An argument tree in one line, to be read and to be matched."""
    text = "%s:%s" % (tree["name"], tree["type"])
    if "token" in tree:
        text += "=%s" % tree["token"]
    if "key_spec_index" in tree:
        text += "@%d" % tree["key_spec_index"]
    if tree["arguments"]:
        text += "(%s)" % " ".join(map(argument_text, tree["arguments"]))
    if tree["flags"]:
        text += "{%s}" % ",".join(tree["flags"])
    return text


def history(changes):
    """The versions that have changed a command, if the reference can know of them."""
    return [version for version, _ in changes if version < LATER]


def docs(flat):
    fields = pairs(flat)
    shown = {
        "fields": " ".join(sorted(set(fields) - {"arguments", "subcommands", "history"})),
        "history": history(fields.get("history", [])),
        "arguments": " ".join(argument_text(argument(a)) for a in fields.get("arguments", [])),
    }
    for key in ("since", "group", "deprecated_since", "replaced_by"):
        shown[key] = fields.get(key)
    shown["doc_flags"] = sorted(fields.get("doc_flags", []))
    return shown, docs_tree(fields.get("subcommands", []))


def docs_tree(flat):
    return {name: docs(fields) for name, fields in pairs(flat).items()}


# ---- both


def differing(what, name, ours, theirs):
    """(about, ours, theirs) for each field that differs, subcommands included."""
    my_fields, my_subs = ours
    other_fields, other_subs = theirs
    for field in sorted(set(my_fields) | set(other_fields)):
        mine, other = my_fields.get(field), other_fields.get(field)
        if mine != other:
            yield "%s %s: %s" % (what, name, field), str(mine), str(other)
    for sub in sorted(set(my_subs) & set(other_subs)):
        yield from differing(what, sub, my_subs[sub], other_subs[sub])
    for sub in sorted(set(other_subs) - set(my_subs)):
        yield "%s %s" % (what, sub), "(absent)", "(present)"


def compare(ours, theirs):
    """Yields for each command its name and its list of differences."""
    names = sorted(ask(ours, "COMMAND", "LIST"))
    known = set(ask(theirs, "COMMAND", "LIST"))
    for name in names:
        if name not in known or "|" in name:
            continue
        found = []
        my_info, other_info = (
            dict(info_tree(ask(server, "COMMAND", "INFO", name))) for server in (ours, theirs)
        )
        found += differing("COMMAND INFO", name, my_info[name], other_info[name])
        my_docs, other_docs = (
            docs_tree(ask(server, "COMMAND", "DOCS", name)) for server in (ours, theirs)
        )
        found += differing("COMMAND DOCS", name, my_docs[name], other_docs[name])
        yield name, found
