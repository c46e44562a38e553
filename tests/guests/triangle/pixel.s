; The pixel program: the interpolated colour, as half floats. Waves of 64.
;
;   s0     where the primitive's parameters are
;   v0, v1 perspective barycentrics at the centre

	.text
	s_mov_b32 m0, s0
	v_interp_p1_f32_e32 v2, v0, attr0.x
	v_interp_p1_f32_e32 v3, v0, attr0.y
	v_interp_p1_f32_e32 v4, v0, attr0.z
	v_interp_p1_f32_e32 v5, v0, attr0.w
	v_interp_p2_f32_e32 v2, v1, attr0.x
	v_interp_p2_f32_e32 v3, v1, attr0.y
	v_interp_p2_f32_e32 v4, v1, attr0.z
	v_interp_p2_f32_e32 v5, v1, attr0.w
	v_cvt_pkrtz_f16_f32_e32 v2, v2, v3
	v_cvt_pkrtz_f16_f32_e32 v4, v4, v5
	exp mrt0 v2, v2, v4, v4 done compr vm
	s_endpgm
