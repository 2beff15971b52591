"""The hopping legs of the source, experiment by experiment."""

from . import basin, controller_iii, figure_4_7, gait_six, physical_floor, prismatic, revolute

STUDIES = [
    *prismatic.STUDIES,
    *revolute.STUDIES,
    *gait_six.STUDIES,
    *figure_4_7.STUDIES,
    *controller_iii.STUDIES,
    *basin.STUDIES,
    *physical_floor.STUDIES,
]
