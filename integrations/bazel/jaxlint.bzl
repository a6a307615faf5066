"""jaxlint in Bazel: an aspect that finds out the facts of each target, and a test that checks targets with them.

The facts of a target depend on its sources alone and are an action of their own: they are made anew when a source
changes, on whatever machine, and shared through the cache of Bazel. The test reads them, and splits by `shard_count`.
"""

JaxlintInfo = provider(
    doc = "What jaxlint knows of a target and of all that it depends on.",
    fields = {
        "facts": "depset of files of facts",
        "sources": "depset of Python files",
    },
)

def _facts_impl(target, ctx):
    sources = [
        file
        for source in getattr(ctx.rule.attr, "srcs", [])
        for file in source.files.to_list()
        if file.extension in ("py", "pyi")
    ]
    below = [dep[JaxlintInfo] for dep in getattr(ctx.rule.attr, "deps", []) if JaxlintInfo in dep]
    made = []
    if sources:
        facts = ctx.actions.declare_file(target.label.name + ".jaxlint_facts")
        arguments = ctx.actions.args()
        arguments.add_all(["facts", "--quiet", "--isolated", "--output", facts])
        arguments.add_all(sources)
        ctx.actions.run(
            executable = ctx.executable._jaxlint,
            arguments = [arguments],
            inputs = sources,
            outputs = [facts],
            mnemonic = "JaxlintFacts",
            progress_message = "Finding out the facts of " + str(target.label),
        )
        made = [facts]
    return [JaxlintInfo(
        facts = depset(made, transitive = [info.facts for info in below]),
        sources = depset(sources, transitive = [info.sources for info in below]),
    )]

_JAXLINT = attr.label(default = "//tools:jaxlint", executable = True, cfg = "exec")

jaxlint_facts = aspect(
    implementation = _facts_impl,
    doc = "Makes a file of facts for each target with Python sources.",
    attr_aspects = ["deps"],
    attrs = {"_jaxlint": _JAXLINT},
)

def _test_impl(ctx):
    infos = [target[JaxlintInfo] for target in ctx.attr.targets]
    facts = depset(transitive = [info.facts for info in infos])
    sources = depset(transitive = [info.sources for info in infos])
    paths = [file.short_path for file in sources.to_list()]
    lines = ["check", "--no-cache"] + ctx.attr.options
    lines += ["--facts=" + file.short_path for file in facts.to_list()] + paths
    arguments = ctx.actions.declare_file(ctx.label.name + ".arguments")
    ctx.actions.write(arguments, "\n".join(lines) + "\n")
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, _SCRIPT.format(
        arguments = arguments.short_path,
        jaxlint = ctx.executable._jaxlint.short_path,
    ), is_executable = True)
    files = ctx.runfiles([arguments] + ctx.files.config, transitive_files = depset(transitive = [facts, sources]))
    return [DefaultInfo(executable = script, runfiles = files.merge(ctx.attr._jaxlint[DefaultInfo].default_runfiles))]

_SCRIPT = """#!/bin/bash
mapfile -t arguments < {arguments}
if [ -n "$TEST_TOTAL_SHARDS" ]; then
    touch "$TEST_SHARD_STATUS_FILE"
    arguments+=("--shard=$((TEST_SHARD_INDEX + 1))/$TEST_TOTAL_SHARDS")
fi
exec {jaxlint} "${{arguments[@]}}"
"""

jaxlint_test = rule(
    implementation = _test_impl,
    doc = "Fails if jaxlint finds anything in the sources of the targets and of what they depend on.",
    test = True,
    attrs = {
        "config": attr.label_list(allow_files = True, doc = "pyproject.toml or jaxlint.toml, where they lie."),
        "options": attr.string_list(doc = "Options of `jaxlint check`."),
        "targets": attr.label_list(aspects = [jaxlint_facts], mandatory = True),
        "_jaxlint": _JAXLINT,
    },
)
