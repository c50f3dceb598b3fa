"""Showing things: charts, tables and the self-contained page they stand on.

>>> from rebatch.report import Chart, Heading, Series, Table, Text, page
>>> curve = Series(name="BL", x=[0, 1, 2], y=[10.0, 62.5, 71.0])
>>> chart = Chart(title="Accuracy", x_label="epoch", y_label="test accuracy, %", series=[curve])
>>> html = page("A run", [Text("One seed."), chart, Table(columns=["epoch"], rows=[[2]])])
>>> html[:15]
'<!DOCTYPE html>'
"""

from rebatch.report._chart import Chart as Chart
from rebatch.report._chart import Mark as Mark
from rebatch.report._chart import Series as Series
from rebatch.report._page import Download as Download
from rebatch.report._page import Heading as Heading
from rebatch.report._page import Section as Section
from rebatch.report._page import Text as Text
from rebatch.report._page import page as page
from rebatch.report._panels import panels as panels
from rebatch.report._reproduction import reproduction as reproduction
from rebatch.report._results import results_page as results_page
from rebatch.report._table import Cell as Cell
from rebatch.report._table import Table as Table
from rebatch.report._write import write as write
