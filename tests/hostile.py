"""Names that would do something where a page, a formula or a figure took them for markup."""

TRAP = "globalThis.pwned=(globalThis.pwned||0)+1"
"""What a script in a name would do; a page in which it ran has `pwned`."""
NAMES = (
    f"<img src=x onerror={TRAP}> <script>{TRAP}</script>",
    "{" + TRAP + "} **bold** <b>b</b> <svg/onload=" + TRAP + "> [a](javascript:" + TRAP + ")",
    r"\input{/etc/passwd} $\frac$ ^^5cinput ~ 50% #1 a_b & \end{document}",
    "</script><script>" + TRAP + "</script> http://evil.example/x <a href='//evil.example'>www.evil.example</a>",
    "- 1. `code` | a | # head ![i](http://evil.example/i.png) me@evil.example $x$ $",
)
