"""The hopping legs of the source, experiment by experiment."""

from . import beyond, figure_4_7, gait_six, prismatic, revolute

STUDIES = [
    *prismatic.STUDIES,
    *revolute.STUDIES,
    *gait_six.STUDIES,
    *figure_4_7.STUDIES,
    *beyond.STUDIES,
]
