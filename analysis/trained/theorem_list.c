#include "analysis/trained/theorem_list.h"

const cs_theorem *const cs_theorem_list[CS_THEOREMS] = {&cs_entry_22,
                                                        &cs_entry_31,
                                                        &cs_entry_41,
                                                        &cs_entry_42,
                                                        &cs_entry_43,
                                                        &cs_entry_refinement,
                                                        &cs_entry_feedback,
                                                        &cs_entry_query_position,
                                                        &cs_entry_qwem,
                                                        &cs_entry_ntp,
                                                        &cs_entry_masking_ridge,
                                                        &cs_entry_trained};
