"""Settings of the book. What the settings do is written in executable_book."""

import os
import tomllib
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from pybtex.plugin import find_plugin, register_plugin

project = "Literate Attention"
author = "the Literate Attention maintainers"
copyright = "2026, the Literate Attention maintainers"  # noqa: A001 - Sphinx names it so
version = release = metadata.version("literate-attention")
language = "en"
pyproject = tomllib.loads(
    Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
)
groups = pyproject["dependency-groups"]
model = [*(f'"{one}"' for one in groups["model"]), f"--no-deps {groups['alone'][0]}"]

extensions = [
    "myst_nb",
    "notfound.extension",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_book_theme",
    "sphinx_copybutton",
    "sphinx_exercise",
    "sphinxcontrib.bibtex",
    "executable_book",
    "interactive.live_figures",
]
exclude_patterns = ["_build"]
nitpicky = True
numfig = True
numfig_secnum_depth = 0  # Figure 12, whatever the chapter
math_numfig = True
math_eqref_format = "({number})"

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
book_package = "../src/literate_attention"
book_distribution = "literate-attention"
book_taught = ["story", "models", "learned", "trust"]
book_line_shapes = True
book_ledger = "sources.toml"
book_cut_assets = True
book_search = True
book_search_last = ["reference", "teaching/instructors", "teaching/quiz", "trust/errata"]
book_depends = ["../src/literate_attention", "../.ci/requirements.txt", "measurements"]
book_device = "literate_attention.trust.reproducibility:pick_device"
book_variables = [
    "LITERATE_DEVICE",
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
]
book_versions = ["torch"]
book_data = "measurements"
book_notebook_installs = {
    "load_smollm2": model,
    "workshop.talk": model,
    "markdown_it": ["markdown-it-py"],
}
book_kernel_preload = [
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "numpy",
    "torch",
    "torch._dynamo",  # which torch.optim imports when it first makes an optimizer
    "torch.distributed.tensor",  # which torch.testing imports when it first compares
    "tiktoken",
    "literate_attention.figures",
]

nb_code_prompt_show = "Code"
nb_execution_mode = "cache"
nb_execution_timeout = 300  # seconds, for the longest training on a slow machine that is busy
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_merge_streams = True
nb_output_stderr = "show"  # executable_book reports it, at every build

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"
# Or it would be looked for in all that is installed, once for each citation.
plaintext = find_plugin("pybtex.backends", "plaintext")
register_plugin("pybtex.backends", "plaintext", plaintext, force=True)

autodoc_member_order = "bysource"
autodoc_preserve_defaults = (
    True  # `greedy`, not <function greedy>, which no signature can be read with
)
autodoc_typehints = "signature"
autodoc_use_type_comments = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

html_math_renderer = "mathml"
myst_update_mathjax = False
nitpick_ignore_regex = [
    ("py:.*", r"(torch|jaxtyping|tiktoken|matplotlib|argparse|collections|os|pathlib)(\..*)?"),
    ("py:.*", r"(nn|Tensor|DataLoader|Dataset)(\..*)?"),
]

html_theme = "sphinx_book_theme"
html_title = project
html_baseurl = os.environ.get(
    "READTHEDOCS_CANONICAL_URL", "https://literate-attention.github.io/literate-attention/"
)
html_context = {"default_mode": "light"}  # where no script chooses
html_copy_source = False
html_scaled_image_link = False  # a drawing says its size, which makes none smaller
html_domain_indices = (
    False  # the API reference lists every module, and in the order of the chapters
)
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["book.css"]
html_js_files = [  # the theme's own links are left out by _templates/layout.html
    "book.js",
    "search.js",
    "line_shapes.js",
    "progress.js",
    "scripts/pydata-sphinx-theme.js",
]
html_theme_options = {
    "article_header_end": ["page-links.html", "article-header-buttons.html"],
    "back_to_top_button": False,
    "footer_content_items": ["edition.html", "copyright.html"],
    "max_navbar_depth": 1,  # no chapter has chapters, and the theme need not look for them
    "navbar_persistent": [],
    "primary_sidebar_end": [],
    "show_navbar_depth": 0,  # a part that one is not in is folded
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
}

copybutton_selector = "div:not(.output) > div.highlight pre"  # outputs are to be read, not copied
epub_contributor = author
epub_copyright = f"© {copyright}; MIT License"
epub_cover = ("_static/cover.svg", "cover.html")  # the PDF's too
book_pdf_style = "_static/pdf.css"
book_pdf_leaves_out = ["playground"]
epub_css_files = ["ebook.css"]
epub_description = metadata.metadata("literate-attention")["Summary"]
epub_exclude_files = [".buildinfo.bak"]  # what Sphinx leaves for the next build
epub_identifier = epub_uid = "literate-attention"  # one name, in all places
epub_show_urls = "no"
epub_tocdepth = 4  # a part, a chapter, a section, a section of a section
epub_tocdup = False  # the first chapter of a part is not listed three times
notfound_urls_prefix = urlsplit(html_baseurl).path
