# run.sh HEADLAB: the comparison with PyTorch, in its own virtual environment if there is one.
python=.venv-acceptance/bin/python3
[ -x $python ] || python=/usr/bin/python3
exec $python tests/acceptance/traces.py "$1"
