# Figures: each runs or resumes its sweep, RUN=0 only draws, and only results of BUDGET where that is given.
## FIGURES=figures folder of the figures
## FORMATS=pdf,png,svg which of these to write
## STYLE= a matplotlib style file, applied on top
## RUN=1 0: only draw the results that are there
## PARTIAL= 1: draw before all trials have run, missing ones hatched
FIGURES ?= figures
FORMATS ?= pdf,png,svg
STYLE ?=
PARTIAL ?=
RUN ?= 1

# $(call figure,NAME,DRAWN BY): figure-NAME draws results of sweeps/specs/NAME.toml by analysis/figures/DRAWN BY.py.
# Failed trials (exit code 1) are hatched; other ends of a sweep stop here, early ones (75) not with PARTIAL=1.
define figure
.PHONY: figure-$(1)
figure-$(1): $$(if $$(filter 0,$$(RUN)),,program)
	$$(if $$(filter 0,$$(RUN)),,$$(HEADLAB) sweep sweeps/specs/$(1).toml --out $$(RESULTS)/$(1) --budget $$(BUDGET) \
	  -j $$(JOBS) || { code=$$$$?; [ $$$$code = 1 ] || [ "$$(PARTIAL) $$$$code" = "1 75" ] || exit $$$$code; })
	/usr/bin/python3 -m analysis.figures.$(2) sweeps/specs/$(1).toml --results $$(RESULTS)/$(1) \
	  --out $$(FIGURES)/$(1) --formats $$(FORMATS) $$(if $$(STYLE),--style $$(STYLE)) \
	  $$(if $$(filter file,$$(origin BUDGET)),,--budget $$(BUDGET)) \
	  $$(if $$(filter 1,$$(PARTIAL)),--partial)
figures += $(1)
endef

# Of a sweep over one axis: heat maps, learning curves, robustness, sensitivity to the learning rate, length.
$(eval $(call figure,demo,sweep))
$(eval $(call figure,cases-model-dim,sweep))
$(eval $(call figure,cases-sequence-length,sweep))
$(eval $(call figure,cases-batch,sweep))
$(eval $(call figure,cases-first-token-model-dim,sweep))
$(eval $(call figure,cases-first-token-layers,sweep))
$(eval $(call figure,cases-first-token-heads,sweep))
$(eval $(call figure,mode-model-dim,sweep))
$(eval $(call figure,mode-vocabulary,sweep))
$(eval $(call figure,cases-dropout,sweep))
$(eval $(call figure,cases-first-token-dropout,sweep))
$(eval $(call figure,mode-dropout,sweep))
$(eval $(call figure,cases-l2,sweep))
$(eval $(call figure,cases-first-token-l2,sweep))
$(eval $(call figure,mode-l2,sweep))
$(eval $(call figure,cases-bias,sweep))
$(eval $(call figure,local-global-bias,sweep))
$(eval $(call figure,cases-initialisation-scale,sweep))
$(eval $(call figure,mode-initialisation-scale,sweep))

# The same, of settings instead of architectures.
$(eval $(call figure,ablation,ablation))

# Over the parameters of queries and keys, and over the operations of scores.
$(eval $(call figure,relations-query-key-dim,query_key_dim))

# Cell by cell against the published numbers.
$(eval $(call figure,agreement,agreement))

# $(call analytic,NAME,DRAWN BY): figure-NAME draws what headlab analytic NAME gives, computed where it is missing.
define analytic
$$(RESULTS)/analytic/$(1).csv: | $$(if $$(filter 0,$$(RUN)),,program)
	$$(HEADLAB) analytic $(1) --out $$@
.PHONY: figure-$(1)
figure-$(1): $$(RESULTS)/analytic/$(1).csv
	/usr/bin/python3 -m analysis.figures.$(2) --results $$< --out $$(FIGURES)/$(1) --formats $$(FORMATS) \
	  $$(if $$(STYLE),--style $$(STYLE))
figures += $(1)
endef
$(eval $(call analytic,output-cage,output_cage))
$(eval $(call analytic,at-start,at_start))
$(eval $(call analytic,xor,xor))

# $(call converted,NAME,DRAWN BY): figure-NAME trains and converts what is missing in RESULTS/NAME and draws it.
define converted
.PHONY: figure-$(1)
figure-$(1): $$(if $$(filter 0,$$(RUN)),,program)
	/usr/bin/python3 -m analysis.figures.$(2) --results $$(RESULTS)/$(1) --budget $$(BUDGET) \
	  $$(if $$(filter 0,$$(RUN)),,--headlab $$(HEADLAB)) --out $$(FIGURES)/$(1) --formats $$(FORMATS) \
	  $$(if $$(STYLE),--style $$(STYLE))
figures += $(1)
endef
$(eval $(call converted,compression,compression))
$(eval $(call converted,spectra,spectra))
$(eval $(call converted,conversion-cost,conversion_cost))

# Of headlab bench, which measures some minutes where RESULTS/growth/bench.json is missing: best on an idle machine.
.PHONY: figure-growth
figure-growth: $(if $(filter 0,$(RUN)),,program)
	/usr/bin/python3 -m analysis.figures.growth --results $(RESULTS)/growth/bench.json \
	  $(if $(filter 0,$(RUN)),,--headlab $(HEADLAB)) --out $(FIGURES)/growth --formats $(FORMATS) \
	  $(if $(STYLE),--style $(STYLE))
figures += growth

figure-%: ## run or resume sweep-NAME and draw it; figures: demo, cases-bias, ... (those of the README)
.PHONY: figures
# Of the paper: growth is measured for minutes, demo is a small mode-model-dim.
figures: $(patsubst %,figure-%,$(filter-out demo growth,$(figures))) ## all figures of the paper; BUDGET=smoke in minutes

# What findings are judged by; sweeps run or resume first, but for RUN=0.
JUDGED := mode-model-dim cases-model-dim cases-first-token-model-dim ablation
.PHONY: findings
findings: $(if $(filter 0,$(RUN)),,program $(RESULTS)/analytic/at-start.csv $(RESULTS)/analytic/xor.csv) ## findings of the paper beside what was measured
	$(if $(filter 0,$(RUN)),,@for name in $(JUDGED); do $(HEADLAB) sweep sweeps/specs/$$name.toml --out $(RESULTS)/$$name \
	  --budget $(BUDGET) -j $(JOBS) || { code=$$?; [ $$code = 1 ] || exit $$code; }; done)
	@/usr/bin/python3 -m analysis.findings --results $(RESULTS) --out $(FIGURES)/findings \
	  $(if $(filter file,$(origin BUDGET)),,--budget $(BUDGET))
