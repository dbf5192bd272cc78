"""``python -m truthfed`` is the command ``truthfed``."""

import sys

from truthfed._command import main

sys.exit(main())
